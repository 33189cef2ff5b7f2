// dedupfs-key(8): lists, adds, changes and removes the key slots of an encrypted volume, and makes its recovery key.
#pragma once

#include "console.h"

namespace dedupfs::tools {

int run_key(Arguments arguments, std::ostream& out, std::ostream& err);

}  // namespace dedupfs::tools
