// The disk with the folders of volumes: all tools open volumes through it, also those of which some containers lie in a bucket only.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <memory>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs::tools {

// `foreign`: what others say of a bucket is not believed, so nothing is looked for there.
std::shared_ptr<Backing> volume_disk(bool foreign = false);
// Whether all that was read through it came: the first failure of a bucket that may pass.
Result<void> check_volume_disk();

}  // namespace dedupfs::tools
