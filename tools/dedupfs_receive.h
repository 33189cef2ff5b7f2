// dedupfs-receive(1): makes a snapshot in a volume of a stream.
#pragma once

#include <unistd.h>

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

// The stream comes from `stream`, unless a file is named.
int run_receive(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {},
                int stream = STDIN_FILENO);

}  // namespace dedupfs::tools
