// The life of a mount, from the command line to the last commit.
#pragma once

#include "mount/options/mount_request.h"

namespace dedupfs {

// Mounts, in the background or not, or remounts. Prints errors to standard error.
//
// In the background it returns twice: in the calling process when the mount answers, or has failed; and in the daemon when
// the volume is closed. Call it before any thread is started.
int run_mount(const MountRequest& request);

}  // namespace dedupfs
