// fsck.dedupfs(8): checks a volume that is not mounted, and repairs it.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_fsck(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
