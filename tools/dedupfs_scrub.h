// dedupfs-scrub(8): starts, watches and stops the scrub of a mounted volume.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_scrub(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
