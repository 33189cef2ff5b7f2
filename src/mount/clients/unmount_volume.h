// Unmounting that ends when everything is durable: the work of umount.dedupfs.
#pragma once

#include "base/backing.h"
#include "mount/system/patience.h"
#include "mount/system/unmount.h"

namespace dedupfs {

struct UnmountRequest {
  Path target;  // a mountpoint, or a volume
  UnmountMode mode = UnmountMode::kNormal;
  bool read_only_on_failure = false;  // where the mount is in use
  Patience patience;                  // of each step that waits for the daemon or for the kernel
  bool verbose = false;               // tell every step
};

// Commits, unmounts, and waits until the daemon has closed the volume and ended (not with kLazy, nor while the mount is bound to
// other places). What cannot be committed stays mounted, except by force.
//
// The daemon is asked only if it proves to be the one of this mount: the kernel's list of mounts says which user's daemon serves
// it, and under which device number; the process behind the control socket must be that user's or root's, and name that number.
// So this asks nothing of the mount itself, which hangs while its daemon does. A daemon that cannot be trusted is not asked;
// unmounting makes it commit, too.
//
// Failure: kInterrupted: it is unmounted, but the patience came to its end before the volume was closed. All else: it is mounted
// as before, or made read-only.
Result<void> unmount_volume(const UnmountRequest& request);

}  // namespace dedupfs
