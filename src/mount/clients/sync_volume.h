// Making everything on a mount durable: the work of dedupfs-sync.
#pragma once

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// Everything that was written to the mounted volume before the call is durable when it returns. `given` is its mount point, a
// path below that, or the folder of the volume. Anybody may call it who may open the root directory of the mount.
//
// Linux does not pass sync(2) and syncfs(2) on to FUSE filesystems (docs/durability.md, "How to make data durable"), so it asks
// for an fsync of the root directory. Tells what it waits for, and gives up after an hour.
// Failure: kNotFound if nothing is mounted there; kInterrupted after an hour; kNoSpace or kIo if something could not be stored, whoever wrote it.
Result<void> sync_volume(const Path& given);

}  // namespace dedupfs
