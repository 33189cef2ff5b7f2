// The record of a mount by root in libmount's table, /run/mount/utab. Because of it, umount(8) calls umount.dedupfs, and returns when
// all changes are durable. Without it, umount(8) gets the type "fuse" from statfs(2), and finds no helper.
//
// Threads: from any thread, one at a time. libmount takes a lock that other programs have for milliseconds.
#pragma once

#include <string>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// Call it when the mount exists. It removes an old record of this mountpoint. `mountpoint` is canonical, and is not accessed. It fails
// if the table cannot be written, for example by an ordinary user: then umount(8) works, but does not wait.
Result<void> record_mount(const Path& mountpoint, const std::string& volume);

// Removes the record, unless something is still mounted there.
Result<void> forget_mount(const Path& mountpoint);

}  // namespace dedupfs
