// Makes all changes of a mount durable, for dedupfs-sync.
#pragma once

#include "base/backing.h"
#include "base/result.h"
#include "mount/system/mount_table.h"
#include "mount/system/patience.h"

namespace dedupfs {

// When it returns, all changes from before the call are durable. `given` is the mount point, a path below it, or the folder of the
// volume. The caller needs permission to open the root directory of the mount.
//
// Linux does not pass sync(2) and syncfs(2) on to FUSE filesystems (docs/durability.md, "How to make data durable"). So this
// calls fsync on the root directory. It reports the reason of its wait, and gives up after an hour.
// Failure: kNotFound if nothing is mounted there; kInterrupted after an hour; kNoSpace or kIo if a change of any program could
//          not be stored.
Result<void> sync_volume(const Path& given);
// The same for a mount of the kernel's list. kAccessDenied if the caller may not open its root; kBusy if another filesystem lies on top.
Result<void> sync_mount(const MountEntry& entry, const Patience& patience);

}  // namespace dedupfs
