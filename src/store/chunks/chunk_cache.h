// Chunks that were made from deltas, under one cap of bytes; least recently used go first. A chunk is often asked for
// again soon: as a source of the deltas of its neighbours, which share most of their sources.
//
// Threads: every function from any thread.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

#include "base/mutex.h"
#include "base/raw_buffer.h"
#include "store/format/types.h"

namespace dedupfs {

class ChunkCache {
 public:
  using Chunk = std::shared_ptr<const RawBuffer>;

  explicit ChunkCache(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  Chunk find(ChunkId id);  // null if it is not there
  void insert(ChunkId id, Chunk chunk);

 private:
  struct Entry {
    ChunkId id{};
    Chunk chunk;
  };

  const std::size_t capacity_bytes_;
  Mutex mutex_;
  std::list<Entry> entries_ DEDUPFS_GUARDED_BY(mutex_);  // most recently used first
  std::unordered_map<ChunkId, std::list<Entry>::iterator> by_id_ DEDUPFS_GUARDED_BY(mutex_);
  std::size_t used_bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
