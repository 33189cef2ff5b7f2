// dedupfs(8): mounts a volume. Called as mount.dedupfs or mount.fuse.dedupfs it is a helper of mount(8).
#pragma once

#include <functional>

#include "console.h"
#include "mount/options/mount_request.h"
#include "replica/open_bucket.h"

namespace dedupfs::tools {

// Mounts, and gives the exit code of mount(8). The real one goes into the background: see run_mount() in mount/daemon/daemon.h.
using Mount = std::function<int(const MountRequest&)>;

// `program` is the path that the program was called by.
int run_dedupfs(const std::string& program, Arguments arguments, std::ostream& out, std::ostream& err,
                const Mount& mount, const OpenBucket& open = open_bucket);

}  // namespace dedupfs::tools
