// The ranges of a file whose content differs between two trees, found from its recipes. Nothing of the content is read.
//
// Threads: free function; one user of the trees at a time.
// Memory:  40 bytes for each segment of the older recipe (1,024 chunks).
// Failure: errors of the trees and of the visitor.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "fs/format/recipe_format.h"
#include "fs/format/types.h"
#include "fs/trees/committed_tree.h"

namespace dedupfs::transfer {

// An entry of the newer recipe.
struct ChangedEntry {
  const RecipeEntry& entry;
  std::uint64_t offset = 0;   // in the file
  std::uint64_t segment = 0;  // the offset of its segment
  bool is_same = false;       // the older recipe has it at the same offset
};
using VisitEntry = std::function<Result<void>(const ChangedEntry& changed)>;

// Visits the entries of the newer recipe in segments that changed, in order of offset. `older` null: there is none, all are new.
Result<void> visit_changed_entries(const CommittedTree* older, const CommittedTree& newer, InodeNumber inode,
                                   const VisitEntry& visit);

// Where the last entry ends.
Result<std::uint64_t> end_of_recipe(const CommittedTree& tree, InodeNumber inode);

}  // namespace dedupfs::transfer
