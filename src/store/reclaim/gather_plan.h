// Chooses the chunks that settling gathers: those that a reader of the newest files would fetch from many places of a hard disk.
//
// The references of the newest files are read as in a restore (RestoreEstimate), in segments. A segment is gathered if its reader
// would be slow, if he would be twice as fast with all that he needs in one place, and if most of that is not needed by a newer
// segment. Its chunks move with all their sources, so a delta lies beside what it is made from. See docs/settling.md.
//
// Threads: one user at a time.
// Failure: an Error of the index, of the walk through the references, or of `report`.
// Memory:  two bits a chunk, 8 bytes for each chunk that is chosen, and the memory of RestoreEstimate and of a segment.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "store/reclaim/reclaim_types.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct GatherPlan {
  std::vector<ChunkId> order;    // in which a reader needs them, each once
  std::uint64_t disk_bytes = 0;  // that they take now
};

// Chunks of `max_disk_bytes` at most. Calls `report` now and then.
Result<GatherPlan> plan_gathering(Volume& volume, const ReclaimHost& host, std::uint64_t max_disk_bytes,
                                  const std::function<Result<void>()>& report);

}  // namespace dedupfs
