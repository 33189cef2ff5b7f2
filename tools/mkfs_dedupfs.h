// mkfs.dedupfs(8): creates a volume.
#pragma once

#include "console.h"
#include "replica/open_bucket.h"

namespace dedupfs::tools {

int run_mkfs(Arguments arguments, std::ostream& out, std::ostream& err, const OpenBucket& open = open_bucket);

}  // namespace dedupfs::tools
