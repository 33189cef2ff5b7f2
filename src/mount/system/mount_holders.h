// Finds the processes in other mount namespaces that keep an unmounted mount alive, since they have a copy of it.
//
// Threads: free functions.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/backing.h"
#include "mount/system/mount_table.h"

namespace dedupfs {

struct MountHolder {
  pid_t process = 0;
  std::string name;  // of the program
  Path mountpoint;   // in its namespace
};

// The processes whose list of mounts has this one, by is_same_mount(), in order of their numbers; processes without read permission are
// left out. The caller's own namespace is looked at like any other.
std::vector<MountHolder> find_mount_holders(const MountEntry& mount, const Path& proc = "/proc");

// For people: "process 12 (bash) at /mnt, process 13 (sleep) at /mnt and 4 more"; empty: none.
std::string describe(const std::vector<MountHolder>& holders);

}  // namespace dedupfs
