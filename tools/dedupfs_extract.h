// dedupfs-extract(1): takes files out of a volume that is not mounted, or lies in a bucket, into a folder or as a tar archive.
#pragma once

#include "console.h"
#include "process.h"
#include "replica/open_bucket.h"

namespace dedupfs::tools {

int run_extract(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {},
                const OpenBucket& open = open_bucket);

}  // namespace dedupfs::tools
