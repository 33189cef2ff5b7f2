// The life of a mount, from the command line to the last commit.
#pragma once

#include <string>

#include "base/backing.h"
#include "fs/mount_options.h"

namespace dedupfs {

struct MountRequest {
  Path volume;
  Path mountpoint;
  MountOptions options;
  bool foreground = false;
  std::string version;  // for `info`
};

// The exit codes of mount(8).
enum MountExit : int {
  kMounted = 0,
  kMountUsage = 1,
  kMountSystemError = 2,
  kMountInternalError = 4,
  kMountFailed = 32,
};

// Mounts, in the background or not, or remounts. Prints errors to standard error.
//
// In the background it returns twice: in the calling process when the mount answers, or has failed; and in the daemon when
// the volume is closed. Call it before any thread is started.
int run_mount(const MountRequest& request);

}  // namespace dedupfs
