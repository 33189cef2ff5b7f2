// Who keeps a mount alive that is off the tree: processes in other mount namespaces, which have a copy of it.
//
// Threads: free functions.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/backing.h"

namespace dedupfs {

struct MountHolder {
  pid_t process = 0;
  std::string name;  // of the program
  Path mountpoint;   // in its namespace
};

// Those in whose list of mounts the device ("MAJOR:MINOR") is, in order of their numbers; processes that may not be looked at are
// left out. The caller's own namespace is looked at like any other.
std::vector<MountHolder> find_mount_holders(const std::string& device, const Path& proc = "/proc");

// For people: "process 12 (bash) at /mnt, process 13 (sleep) at /mnt and 4 more"; empty: none.
std::string describe(const std::vector<MountHolder>& holders);

}  // namespace dedupfs
