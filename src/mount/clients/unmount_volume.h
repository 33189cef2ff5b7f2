// Unmounts, and returns when all changes are durable, for umount.dedupfs.
#pragma once

#include <optional>

#include "base/backing.h"
#include "base/result.h"
#include "mount/system/patience.h"
#include "mount/system/unmount.h"

namespace dedupfs {

struct UnmountRequest {
  Path target;  // a mountpoint, or a volume
  UnmountMode mode = UnmountMode::kNormal;
  bool read_only_on_failure = false;  // where the mount is in use
  Patience patience;                  // with each step that waits for the daemon or for the kernel
  bool verbose = false;               // tell every step
};

struct Unmounted {
  std::optional<Path> elsewhere;  // where the same mount is bound, too: its daemon goes on
};

// Commits, unmounts, and waits until the daemon has closed the volume and ended (not with kLazy, nor while the mount is bound to
// another place). If the commit fails, the volume stays mounted, except with force.
//
// A request goes only to the daemon of this mount. The kernel's list of mounts names the user of the daemon and the device number.
// The process behind the control socket must belong to that user or to root, and name that device number. The mount itself is not
// asked as long as the socket answers. Without a trusted daemon there, the commit goes through the mount, with a time limit. Then the
// end of the daemon shows by the lock of the volume: whoever wrote leaves it empty if nothing was lost. A mount whose daemon had died is
// taken away: unmounting loses nothing.
//
// Failure: kInterrupted: the mount is gone, but it is not certain that all is durable: the time limit passed before the volume was
// closed, changes were lost, or nothing tells. Any other error: it is still mounted, or now read-only.
Result<Unmounted> unmount_volume(const UnmountRequest& request);

}  // namespace dedupfs
