// dedupfs-estimate(1): says what files would take in a volume, without making one.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_estimate(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
