// Names the files that need damaged chunks: of the live tree and of snapshots.
//
// Threads: free function, safe from any thread.
// Failure: errors of the index, and those of GoOn; records that do not parse are kCorruption.
// Memory:  the damaged chunks with their deltas, and the names of as many files as are wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/go_on.h"
#include "base/result.h"
#include "index/database.h"

namespace dedupfs {

struct DamagedFileNames {
  // Paths from the root of the mount on, as bytes: "/folder/file", "/.snapshots/NAME/folder/file", of what is committed.
  std::vector<std::string> names;
  std::uint64_t more = 0;  // of such files, without a name here
};

// Names `most` files, and counts the rest. A file in many snapshots is named in one of them. It reads all recipes, and the index of
// chunks for those that are deltas of damaged ones.
Result<DamagedFileNames> name_damaged_files(const Database& database, std::size_t most, GoOn go_on = nullptr);

}  // namespace dedupfs
