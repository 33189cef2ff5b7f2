#include "store/relocation/erasure.h"

#include <utility>

namespace dedupfs {

void Erasure::erase(ErasedChunks chunks) {
  pending_.erase(std::move(chunks));
}

Result<void> Erasure::forget_dead_features() {
  if (!ingest_.deltas) return {};
  return ingest_.deltas->features.forget([this](ChunkId id) { return !liveness_.is_live(id); });
}

void Erasure::finish() {
  liveness_.finish([this] {
    ingest_.duplicates.forget_all();
    ingest_.reader.forget_places();
  });
}

}  // namespace dedupfs
