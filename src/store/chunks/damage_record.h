// Makes the list of damaged chunks durable, and counts those that were healed: a writer brought their content again.
//
// Threads: note() and the counts from any thread; as CommitParticipant as that says.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "index/commit_participant.h"
#include "index/database.h"
#include "store/chunks/damaged_chunks.h"
#include "store/chunks/pending_chunks.h"

namespace dedupfs {

class DamageRecord final : public CommitParticipant {
 public:
  DamageRecord(DamagedChunks& damaged, const PendingChunks& pending) : damaged_(damaged), pending_(pending) {}

  // Loads the findings of earlier mounts.
  Result<void> load(const Database& index);

  // Somebody found it damaged by other means than reading it.
  void note(ChunkId id) { damaged_.insert(id); }
  std::uint64_t damaged_chunks() const { return damaged_.size(); }  // found here, or at an earlier mount
  std::uint64_t healed_chunks() const { return healed_; }           // since this mount

  void freeze() override {}
  Result<void> append_to(Database::Batch& batch) override;
  // To be called before the pending chunks drop the frozen group.
  void committed() override;
  void failed(CommitFailure failure) override;

 private:
  DamagedChunks& damaged_;
  const PendingChunks& pending_;
  std::atomic<std::uint64_t> healed_ = 0;
  std::vector<ChunkId> healing_;                   // by the frozen group
  std::optional<std::uint64_t> appended_version_;  // of the list in the batch that is being written
};

}  // namespace dedupfs
