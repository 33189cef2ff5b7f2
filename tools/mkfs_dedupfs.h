// mkfs.dedupfs(8): creates a volume.
#pragma once

#include "console.h"

namespace dedupfs::tools {

int run_mkfs(Arguments arguments, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::tools
