// Unmounting that ends when everything is durable: the work of umount.dedupfs.
#pragma once

#include <ostream>

#include "base/backing.h"
#include "fs/unmount.h"

namespace dedupfs {

struct UnmountRequest {
  Path target;  // a mountpoint, or a volume
  UnmountMode mode = UnmountMode::kNormal;
  bool read_only_on_failure = false;  // where the mount is in use
};

// Commits, unmounts, and waits until the daemon has closed the volume and ended (not with kLazy, nor while the mount is bound to
// other places). What cannot be committed stays mounted, except by force. Tells its steps to `progress`.
Result<void> unmount_volume(const UnmountRequest& request, std::ostream& progress);

}  // namespace dedupfs
