// dedupfs-report(1): writes a page about a volume.
#pragma once

#include "console.h"

namespace dedupfs::tools {

int run_report(Arguments arguments, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::tools
