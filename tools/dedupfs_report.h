// dedupfs-report(1): writes a page about a volume.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_report(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
