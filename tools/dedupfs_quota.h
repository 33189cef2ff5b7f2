// dedupfs-quota(8): sets, shows and removes the quotas of trees.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_quota(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
