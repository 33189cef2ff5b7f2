// Index entries of chunks that have a place already and get another: the runs that had them are cut around them.
//
// Threads: free functions; nobody else may change the family `chunks` before the batch is written.
// Failure: kCorruption for an entry that does not parse.
#pragma once

#include <vector>

#include "base/result.h"
#include "store/chunk_index.h"
#include "store/database.h"

namespace dedupfs {

// `moved` do not overlap each other.
Result<void> put_moved_runs(const Database& database, const std::vector<ChunkRun>& moved, Database::Batch& batch);

// What of `run` lies in front of `first` and what behind `last`; either may be empty.
std::vector<ChunkRun> cut_out(const ChunkRun& run, ChunkId first, ChunkId last);

}  // namespace dedupfs
