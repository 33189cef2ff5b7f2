// Finds the stored chunk that has the content of a new one: first in a cache, then among the chunks that are not committed yet,
// then in the index.
//
// Threads: every function from any thread.
// Failure: errors of the index. A hit that cannot be confirmed is none: the chunk is stored again.
#pragma once

#include <optional>

#include "base/meter.h"
#include "base/result.h"
#include "index/database.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/liveness.h"
#include "store/chunks/pending_chunks.h"
#include "store/containers/container_store.h"
#include "store/format/types.h"
#include "store/ingest/fingerprint_cache.h"

namespace dedupfs {

class DuplicateFinder {
 public:
  DuplicateFinder(const Database& index, const ContainerStore& containers, const PendingChunks& pending,
                  ChunkReader& reader);

  struct Duplicate {
    ChunkId id{};
    bool is_lost = false;  // its bytes cannot be read any more: store them again, under this id
  };
  // A chunk with this fingerprint. A hit is claimed by `lookup`, so that no reclaim deletes it.
  Result<std::optional<Duplicate>> find(const Fingerprint& fingerprint, Liveness::Lookup& lookup);

  // After chunks were deleted: the cache may have some of them.
  void forget_all() { cache_.clear(); }

  CacheMeter::Reading cache_reading() const { return cache_meter_.read(); }

 private:
  Result<std::optional<ChunkId>> look_up(const Fingerprint& fingerprint, Liveness::Lookup& lookup);
  bool load_neighbourhood(ChunkId id, const Fingerprint& fingerprint);

  enum class Soundness { kSound, kLost, kOtherContent };
  Soundness soundness_of(ChunkId id);

  const Database& index_;
  const ContainerStore& containers_;
  const PendingChunks& pending_;
  ChunkReader& reader_;
  FingerprintCache cache_;
  CacheMeter cache_meter_;
};

}  // namespace dedupfs
