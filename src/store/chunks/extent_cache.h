// The extents of recently read chunks, so that a sequential reader asks the database once an extent.
//
// A place may be stale: chunks move. But a chunk that is found here was in the database after the last clear().
//
// Threads: every function from any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "base/mutex.h"
#include "store/chunks/chunk_index.h"

namespace dedupfs {

class ExtentCache {
 public:
  struct Found {
    RegionRange region;
    bool has_deltas = false;  // the extent, not necessarily the chunk
  };
  std::optional<Found> find(ChunkId id) const {
    const ReaderLock lock(mutex_);
    const auto after = extents_.upper_bound(number_of(id));
    if (after == extents_.begin()) return std::nullopt;
    const auto& [first, extent] = *std::prev(after);
    if (number_of(id) - first >= extent.count) return std::nullopt;
    return extent.found;
  }

  void forget(ChunkId id) {
    const WriterLock lock(mutex_);
    const auto after = extents_.upper_bound(number_of(id));
    if (after != extents_.begin()) extents_.erase(std::prev(after));
  }

  void clear() {
    const WriterLock lock(mutex_);
    extents_.clear();
    ++generation_;
  }

  // To be asked for before the database is, and handed to insert(), which drops what was found before a clear().
  std::uint64_t generation() const {
    const ReaderLock lock(mutex_);
    return generation_;
  }

  static Found found_in(const ChunkExtent& extent) {
    return {extent.region(), std::ranges::any_of(extent.chunks, &ChunkExtent::Chunk::is_delta)};
  }

  void insert(const ChunkExtent& extent, std::uint64_t generation) {
    const WriterLock lock(mutex_);
    if (generation != generation_) return;
    // Clearing all of it is rare and cheap: the extents in use come back with one look-up each.
    if (extents_.size() >= kMaxExtents) extents_.clear();
    extents_.insert_or_assign(number_of(extent.first), Run{extent.chunks.size(), found_in(extent)});
  }

 private:
  static constexpr std::size_t kMaxExtents = 1 << 16;

  struct Run {
    std::size_t count = 0;
    Found found;
  };

  mutable SharedMutex mutex_;
  std::map<std::uint64_t, Run> extents_ DEDUPFS_GUARDED_BY(mutex_);  // by number of the first id
  std::uint64_t generation_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
