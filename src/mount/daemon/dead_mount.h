// Mounts whose daemon has died: the kernel still lists them, and every access gives ENOTCONN (ECONNABORTED if it came in the moment
// of the death).
//
// Threads: call it before others are started, since it forks.
#pragma once

#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "mount/system/patience.h"

namespace dedupfs {

// kInterrupted if the filesystem there does not answer in time.
Result<bool> is_dead_mount(const Path& mountpoint, const Patience& patience);

// Detaches the dead mounts of this volume at this mountpoint, the topmost first. Live mounts stay. Returns the number of detached
// mounts. Both paths are canonical. kBusy if another dead mount is there, or one that does not answer within ten seconds.
Result<int> detach_dead_mounts(const Path& volume, const Path& mountpoint);

}  // namespace dedupfs
