// Unmounts: as root by umount2(2), as another user by fusermount3.
#pragma once

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

enum class UnmountMode {
  kNormal,  // refused (kBusy) while files are open there
  kForce,   // requests that wait for the daemon fail
  kLazy,    // detached at once, ended when the last file is closed
  kAbort,   // detached at once; open files give errors from now on (for users other than root: as kLazy)
};

// `mountpoint` is canonical. Returns when the mount is gone, not when its daemon has ended.
Result<void> unmount(const Path& mountpoint, UnmountMode mode);

}  // namespace dedupfs
