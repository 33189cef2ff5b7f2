#include "store/chunks/chunk_cache.h"

#include <utility>

namespace dedupfs {
namespace {

constexpr std::size_t kOverheadBytes = 192;  // list and hash nodes, control block, rounding by the allocator

}  // namespace

ChunkCache::Chunk ChunkCache::find(ChunkId id) {
  const MutexLock lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->chunk;
}

void ChunkCache::insert(ChunkId id, Chunk chunk) {
  std::list<Entry> dropped;  // freed after the lock is released
  const MutexLock lock(mutex_);
  if (by_id_.contains(id)) return;
  used_bytes_ += chunk->size() + kOverheadBytes;
  entries_.push_front({id, std::move(chunk)});
  by_id_.emplace(id, entries_.begin());
  while (used_bytes_ > capacity_bytes_ && entries_.size() > 1) {
    const auto last = std::prev(entries_.end());
    used_bytes_ -= last->chunk->size() + kOverheadBytes;
    by_id_.erase(last->id);
    dropped.splice(dropped.begin(), entries_, last);
  }
}

}  // namespace dedupfs
