// From super-features to chunks: finds stored chunks that resemble a new one. The entries are in the database's family
// `features`, with the changes since the last commit in memory above it. See docs/format.md, "Feature index".
//
// It is a hint: a missing entry costs space and nothing else. So the index may be dropped, and it forgets the oldest chunks if it
// would outgrow its limit. If two chunks have one super-feature, the newer one stays.
//
// Threads: every function from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "delta/resemblance.h"
#include "index/commit_participant.h"
#include "index/database.h"
#include "store/format/types.h"

namespace dedupfs {

class FeatureIndex final : public CommitParticipant {
 public:
  // `disk_bytes`: about how much the family may take.
  FeatureIndex(Database& database, std::uint64_t disk_bytes);

  // The chunks that share a super-feature with the sketch: those that share most first, the newest first among equals.
  Result<std::vector<ChunkId>> find(const Sketch& sketch) const;
  void insert(const Sketch& sketch, ChunkId id);
  // Drops the entries of committed chunks for which `is_dead` returns true.
  Result<void> forget(const std::function<bool(ChunkId)>& is_dead);

  void freeze() override;
  Result<void> append_to(Database::Batch& batch) override;
  void committed() override;
  void failed(CommitFailure /*failure*/) override {}
  std::size_t open_bytes() const;

 private:
  using Group = std::unordered_map<std::uint64_t, ChunkId>;  // by number in the key

  Database& database_;
  const std::uint64_t max_ids_;  // chunks that are older than that many ids are forgotten

  mutable SharedMutex mutex_;
  Group open_ DEDUPFS_GUARDED_BY(mutex_);
  Group frozen_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t newest_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t newest_frozen_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
