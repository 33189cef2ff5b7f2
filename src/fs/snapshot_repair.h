// Copies the snapshots of an index that may be damaged into an empty one, so that check_snapshots() has nothing to say of the
// copy but which content is lost.
//
// A snapshot without all of its images would show what came later as if it had been there then. So snapshots of which an image
// cannot be read are given up; newer ones, which do not need that image, stay.
//
// Threads: one at a time.
// Failure: an Error means that the copy could not be written.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "fs/namespace_repair.h"
#include "store/chunk_table.h"
#include "store/database.h"
#include "store/record_source.h"

namespace dedupfs {

struct RepairedSnapshots {
  std::uint64_t end_of_numbers = 1;  // no snapshot, and no image, has this number or a higher one
  std::uint64_t end_of_chunks = 1;   // no image refers to a chunk with this id or a greater one
};

// `is_whole`: all that there was of both families can be read.
Result<RepairedSnapshots> repair_snapshots(const RecordSource& from, bool is_whole, const ChunkTable& chunks,
                                           Database& to, const RepairLog& log);

}  // namespace dedupfs
