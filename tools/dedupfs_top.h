// dedupfs-top(1): shows again and again what goes on in a mounted volume, and what holds it up.
#pragma once

#include "console.h"
#include "process.h"
#include "terminal.h"

namespace dedupfs::tools {

int run_top(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {},
            const Terminal& terminal = {});

}  // namespace dedupfs::tools
