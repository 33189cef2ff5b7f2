// mount -o remount: between read-only and read-write, and the flags that belong to the kernel.
#pragma once

#include "base/backing.h"
#include "mount/options/mount_options.h"
#include "mount/system/mount_table.h"

namespace dedupfs {

// Returns an exit code of mount(8); prints errors to standard error.
int run_remount(const Path& mountpoint, const MountOptions& requested);

// Makes a mount read-only after a failed unmount with -r. kNotPermitted for users other than root.
Result<void> remount_read_only(const MountEntry& entry);

}  // namespace dedupfs
