// The disk with the folders of volumes: all tools open volumes through it, also those of which some containers lie in a bucket only.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <memory>

#include "base/backing.h"

namespace dedupfs::tools {

// `foreign`: what others say of a bucket is not believed, so nothing is looked for there.
std::shared_ptr<Backing> volume_disk(bool foreign = false);

}  // namespace dedupfs::tools
