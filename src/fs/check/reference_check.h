// Whether what a recipe refers to is there, as fsck.dedupfs asks it.
//
// Threads: one user of a report at a time.
#pragma once

#include <cstdint>

#include "fs/format/recipe_format.h"
#include "store/check/check_report.h"
#include "store/chunks/chunk_table.h"

namespace dedupfs {

// Of an entry of kind kChunk, at `offset` in the file. What is wrong goes to the report.
void check_reference(InodeNumber inode, std::uint64_t offset, const RecipeEntry& entry, const ChunkTable& chunks,
                     CheckReport& report);

}  // namespace dedupfs
