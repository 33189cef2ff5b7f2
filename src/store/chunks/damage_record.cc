#include "store/chunks/damage_record.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace dedupfs {

Result<void> DamageRecord::load(const Database& index) {
  DEDUPFS_ASSIGN(const auto stored, index.get(Family::kCounters, kDamagedChunksCounter));
  return stored ? damaged_.load(*stored) : Result<void>();
}

Result<void> DamageRecord::append_to(Database::Batch& batch) {
  healing_ = pending_.frozen_renewed();
  if (!damaged_.changed() && healing_.empty()) return {};
  const DamagedChunks::Encoded encoded = damaged_.encode(healing_);
  batch.put(Family::kCounters, kDamagedChunksCounter, encoded.bytes);
  appended_version_ = encoded.version;
  return {};
}

void DamageRecord::committed() {
  if (appended_version_) damaged_.note_stored(*std::exchange(appended_version_, std::nullopt), healing_);
  if (const auto healed = std::exchange(healing_, {}).size(); healed != 0) {
    spdlog::info("{} damaged chunks were written again: the files that have them are whole again", healed);
    healed_ += healed;
  }
  for (const ErasedChunks& erased : pending_.frozen_erased()) damaged_.erase(erased.first, erased.fingerprints.size());
}

void DamageRecord::failed(CommitFailure /*failure*/) {
  appended_version_.reset();
}

}  // namespace dedupfs
