// Checks that the chunks of a recipe exist, for fsck.dedupfs.
//
// Threads: one user of a report at a time.
#pragma once

#include <cstdint>

#include "fs/format/recipe_format.h"
#include "store/check/check_report.h"
#include "store/chunks/chunk_table.h"

namespace dedupfs {

// Checks an entry of kind kChunk at `offset` in the file. The report gets the findings.
void check_reference(InodeNumber inode, std::uint64_t offset, const RecipeEntry& entry, const ChunkTable& chunks,
                     CheckReport& report);

}  // namespace dedupfs
