// The record of a mount by root in libmount's table, /run/mount/utab. It is what makes umount(8) call umount.dedupfs, and so return when
// everything is durable: without one umount(8) asks statfs(2) for the type, which is "fuse" for all FUSE filesystems, and finds no helper.
//
// Threads: from any thread, one at a time. libmount takes a lock that other programs have for milliseconds.
#pragma once

#include <string>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// Call it when the mount is there. A record that an earlier mount left at this place goes. `mountpoint` is canonical; nobody is asked who
// is mounted there. An error where the table cannot be written, as by an ordinary user: umount(8) works then, but does not wait.
Result<void> record_mount(const Path& mountpoint, const std::string& volume);

// Removes the record, unless something is still mounted there.
Result<void> forget_mount(const Path& mountpoint);

}  // namespace dedupfs
