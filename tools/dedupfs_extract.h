// dedupfs-extract(1): takes files out of a volume that is not mounted, into a folder or as a tar archive.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_extract(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
