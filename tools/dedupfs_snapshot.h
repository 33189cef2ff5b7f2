// dedupfs-snapshot(8): creates, lists and deletes snapshots, and rolls back to one. Works with and without a mount.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_snapshot(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
