// dedupfs-stat(1): shows the content of a volume or of single files, and their size on disk.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_stat(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
