// dedupfs-stat(1): shows what a volume or single files hold and take on disk.
#pragma once

#include "console.h"

namespace dedupfs::tools {

int run_stat(Arguments arguments, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::tools
