// dedupfs-events(8): looks at the mounted volumes, and runs the programs of the administrator for what has happened.
#pragma once

#include "console.h"

namespace dedupfs::tools {

int run_events(Arguments arguments, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::tools
