// Fingerprints that are likely to be looked up next: those that lie on disk around one that was just found. Duplicates
// come in long runs, so nearly all of them are found here without touching the database. (Zhu, Li, Patterson: Avoiding
// the disk bottleneck in the Data Domain deduplication file system, FAST '08, section 4.3, "locality preserved
// caching".)
//
// Threads: every function from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "store/format/region.h"
#include "store/format/types.h"

namespace dedupfs {

class FingerprintCache {
 public:
  // Holds between capacity and 2 * capacity fingerprints (about 80 bytes each).
  explicit FingerprintCache(std::size_t capacity) : capacity_(capacity) {}

  std::optional<ChunkId> find(const Fingerprint& fingerprint);
  void insert(const std::vector<RegionEntry>& entries);
  void clear();

 private:
  using Map = std::unordered_map<Fingerprint, ChunkId>;

  // Two generations instead of a list of recent use. When the young one is full, it becomes the old one. Entries of the old one
  // that were not asked for since are gone.
  void insert_young(const Fingerprint& fingerprint, ChunkId id) DEDUPFS_REQUIRES(mutex_);

  const std::size_t capacity_;
  Mutex mutex_;
  Map young_ DEDUPFS_GUARDED_BY(mutex_);
  Map old_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
