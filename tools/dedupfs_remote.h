// dedupfs-remote(8): replicates a volume to a bucket, and makes a volume of what a bucket has.
#pragma once

#include "console.h"
#include "process.h"
#include "replica/open_bucket.h"

namespace dedupfs::tools {

int run_remote(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {},
               const OpenBucket& open = open_bucket);

}  // namespace dedupfs::tools
