// dedupfs-send(1): writes a snapshot of a volume as a stream.
#pragma once

#include <unistd.h>

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

// The stream goes to `stream`, unless a file is named.
int run_send(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {},
             int stream = STDOUT_FILENO);

}  // namespace dedupfs::tools
