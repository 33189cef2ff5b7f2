// dedupfs-gc(8): frees the disk space of deleted data. The daemon of a mounted volume does it; without one the tool does.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_gc(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
