// Taking a mount off the tree, as root by umount2(2), as anybody else by fusermount3.
#pragma once

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

enum class UnmountMode {
  kNormal,  // refused (kBusy) while files are open there
  kForce,   // requests that wait for the daemon fail
  kLazy,    // off the tree at once; the rest when the last file is closed
  kAbort,   // off the tree at once; files that are open give errors from now on (of others than root: as kLazy)
};

// `mountpoint` is canonical. Returns when the mount is gone, not when its daemon has ended.
Result<void> unmount(const Path& mountpoint, UnmountMode mode);

}  // namespace dedupfs
