// The request to mount a volume, and the exit codes of a mount.
//
// Threads: values.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/backing.h"
#include "base/inherited_files.h"
#include "base/result.h"
#include "mount/options/mount_options.h"

namespace dedupfs {

struct MountRequest {
  Path volume;
  bool in_bucket = false;  // `volume` is the address of a bucket, and no folder has it
  Path mountpoint;
  MountOptions options;
  bool foreground = false;
  std::string version;                                  // for `info`
  std::shared_ptr<Backing> backing = Backing::posix();  // opens the volume, without asking anybody
  // Of a volume in a bucket: looks for a newer state, which `backing` opens from then on if there is one. It may be called from any thread.
  std::function<Result<bool>()> renew = {};
  InheritedFiles inherited = {};  // the daemon closes them
};

// The exit codes of mount(8).
enum MountExit : int {
  kMounted = 0,
  kMountUsage = 1,
  kMountSystemError = 2,
  kMountInternalError = 4,
  kMountFailed = 32,
};

}  // namespace dedupfs
