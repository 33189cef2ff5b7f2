// dedupfs-import(8): copies the archives of a borg or restic repository into a mounted volume, each as a folder and a snapshot.
#pragma once

#include "console.h"
#include "process.h"

namespace dedupfs::tools {

int run_import(Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {});

}  // namespace dedupfs::tools
