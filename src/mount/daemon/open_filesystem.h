// The filesystem of a mount, as its options say.
//
// Threads: free functions, safe from any thread.
// Failure: that of the volume and the filesystem. kReadOnly says how it can be mounted all the same.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "mount/options/memory_limits.h"
#include "mount/options/mount_request.h"

namespace dedupfs {

// Of this machine.
MemoryLimits memory_limits();

// `report` gets what takes long.
Result<std::unique_ptr<Filesystem>> open_filesystem(const MountRequest& request,
                                                    const std::function<void(const std::string&)>& report);

}  // namespace dedupfs
