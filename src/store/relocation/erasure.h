// The store's part in deleting chunks that nobody refers to, for a reclaim: which chunks are live, which are new, and the
// deletion.
//
// Threads: every function from any thread; phases are changed by one thread (Liveness).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/chunks/liveness.h"
#include "store/chunks/pending_chunks.h"
#include "store/ingest/ingest.h"

namespace dedupfs {

class Erasure {
 public:
  Erasure(Liveness& liveness, PendingChunks& pending, Ingest& ingest)
      : liveness_(liveness), pending_(pending), ingest_(ingest) {}

  Liveness& liveness() { return liveness_; }
  // No chunk has this id or a higher one.
  std::uint64_t end_of_ids() const { return ingest_.ids.ids().next(); }
  // Whether a chunk was stored, or moved, and is not committed yet.
  bool is_pending(ChunkId id) const { return pending_.locate(id).has_value(); }

  // Call it within a transaction group; the erasure becomes a part of it.
  void erase(ErasedChunks chunks);
  // Drops hints that lead to chunks that are not live from the index of features.
  Result<void> forget_dead_features();
  // Ends what began with liveness().start_marking().
  void finish();

 private:
  Liveness& liveness_;
  PendingChunks& pending_;
  Ingest& ingest_;
};

}  // namespace dedupfs
