// Names the files that need damaged chunks: of the live tree and of snapshots.
//
// Threads: free function, safe from any thread.
// Failure: errors of the index; records that do not parse are kCorruption.
// Memory:  the damaged chunks, and the names of these files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "index/database.h"

namespace dedupfs {

// Paths from the root of the mount on, as bytes: "/folder/file", "/.snapshots/NAME/folder/file", of what is committed. A file in many
// snapshots is named in one of them. It reads all recipes, and the index of chunks for those that are deltas of damaged ones.
Result<std::vector<std::string>> name_damaged_files(const Database& database);

}  // namespace dedupfs
