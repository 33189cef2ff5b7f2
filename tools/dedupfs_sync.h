// dedupfs-sync(8): returns when everything that was written to a mounted volume is durable.
#pragma once

#include "console.h"

namespace dedupfs::tools {

int run_sync(Arguments arguments, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::tools
