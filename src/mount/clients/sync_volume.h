// Makes all changes of a mount durable, for dedupfs-sync.
#pragma once

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// When it returns, all changes from before the call are durable. `given` is the mount point, a path below it, or the folder of the
// volume. The caller needs permission to open the root directory of the mount.
//
// Linux does not pass sync(2) and syncfs(2) on to FUSE filesystems (docs/durability.md, "How to make data durable"). So this
// calls fsync on the root directory. It reports the reason of its wait, and gives up after an hour.
// Failure: kNotFound if nothing is mounted there; kInterrupted after an hour; kNoSpace or kIo if a change of any program could
//          not be stored.
Result<void> sync_volume(const Path& given);

}  // namespace dedupfs
