// dedupfs-clone(1): copies a file or a folder within a mounted volume by reference.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_clone(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
