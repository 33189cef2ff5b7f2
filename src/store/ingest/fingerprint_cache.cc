#include "store/ingest/fingerprint_cache.h"

namespace dedupfs {

std::optional<ChunkId> FingerprintCache::find(const Fingerprint& fingerprint) {
  const MutexLock lock(mutex_);
  if (const auto found = young_.find(fingerprint); found != young_.end()) return found->second;
  if (const auto found = old_.find(fingerprint); found != old_.end()) {
    const ChunkId id = found->second;
    insert_young(fingerprint, id);
    return id;
  }
  return std::nullopt;
}

void FingerprintCache::insert(const std::vector<RegionEntry>& entries) {
  const MutexLock lock(mutex_);
  for (const RegionEntry& entry : entries) insert_young(entry.fingerprint, entry.id);
}

void FingerprintCache::clear() {
  const MutexLock lock(mutex_);
  young_ = {};
  old_ = {};
}

void FingerprintCache::insert_young(const Fingerprint& fingerprint, ChunkId id) {
  if (young_.size() >= capacity_) {
    old_ = std::move(young_);
    young_ = Map();
  }
  young_.insert_or_assign(fingerprint, id);
}

}  // namespace dedupfs
