#include "fs/check/index_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "fs/check/history_repair.h"
#include "fs/check/hold_repair.h"
#include "fs/check/quota_check.h"
#include "fs/check/snapshot_repair.h"
#include "fs/format/local_time.h"
#include "fs/format/records.h"
#include "index/bulk_writer.h"
#include "index/counters.h"
#include "index/index_salvage.h"
#include "store/check/feature_rebuild.h"
#include "store/check/index_rebuild.h"
#include "store/chunks/damaged_chunks.h"
#include "store/containers/container_store.h"
#include "store/format/chunk_ids.h"
#include "store/format/features.h"
#include "store/volume/volume.h"

namespace dedupfs {
namespace {

constexpr std::string_view kOldIndex = "index.damaged";
constexpr std::uint64_t kMemoryBytes = 128 << 20;

// The greatest possible value in any of the sources.
Result<std::uint64_t> greatest_counter(const std::vector<const RecordSource*>& sources, std::string_view name,
                                       std::uint64_t most) {
  std::uint64_t greatest = 1;
  for (const RecordSource* source : sources) {
    if (source == nullptr) continue;
    DEDUPFS_TRY(source->walk(Family::kCounters, [&](std::string_view key, std::string_view value) {
      if (key != name) return true;
      const auto counter = decode_number(name, value);
      if (counter && *counter <= most) greatest = std::max(greatest, *counter);
      return true;
    }));
  }
  return greatest;
}

// Copies the record; drops it if it does not parse, since it is a hint.
Result<std::vector<std::uint64_t>> listed_chunks(const RecordSource* index) {
  DamagedChunks listed;
  if (index == nullptr) return listed.numbers();
  DEDUPFS_TRY(index->walk(Family::kCounters, [&](std::string_view key, std::string_view value) {
    if (key == kDamagedChunksCounter) (void)listed.load(value);
    return true;
  }));
  return listed.numbers();
}

Result<void> put_counter(BulkWriter& writer, std::string_view name, std::uint64_t value) {
  return writer.put(Family::kCounters, name, encode_number(value));
}

bool has(const IndexSurvey& survey, Family family) {
  return survey.records != nullptr && survey.is_whole[static_cast<std::size_t>(family)];
}

Result<void> copy_features(const RecordSource& from, BulkWriter& to) {
  Result<void> result;
  DEDUPFS_TRY(from.walk(Family::kFeatureIndex, [&](std::string_view key, std::string_view value) {
    result = to.put(Family::kFeatureIndex, key, value);
    return result.has_value();
  }));
  return result;
}

}  // namespace

IndexRepair::IndexRepair(std::shared_ptr<BackingFolder> volume, Superblock superblock)
    : volume_(std::move(volume)), superblock_(std::move(superblock)) {}

Result<bool> IndexRepair::is_complete() const {
  const auto index = [&]() -> Result<std::unique_ptr<Database>> {
    DEDUPFS_ASSIGN(const auto folder, volume_->open_folder(kNewIndex));
    DEDUPFS_ASSIGN(const auto harmful, harmful_tables(folder));
    if (!harmful.empty()) return Error{ErrorCode::kCorruption, harmful.front().harm};
    return Database::open(folder, {.memory_bytes = Database::kMinMemoryBytes, .read_only = true});
  }();
  if (!index && index.error().code() != ErrorCode::kCorruption && index.error().code() != ErrorCode::kNotFound)
    return index.error();
  if (!index) return false;
  DEDUPFS_ASSIGN(const auto uuid, (*index)->get(Family::kCounters, kVolumeUuidCounter));
  return uuid == superblock_.uuid;
}

std::string IndexRepair::old_index(int number) {
  return number == 1 ? std::string(kOldIndex) : fmt::format("{}.{}", kOldIndex, number);
}

Result<int> IndexRepair::old_indexes() const {
  for (int number = 0;; ++number) {
    DEDUPFS_ASSIGN(const bool has_next, volume_->exists(old_index(number + 1)));
    if (!has_next) return number;
  }
}

Result<std::vector<std::string>> IndexRepair::clean_up(bool finish) {
  std::vector<std::string> lines;
  DEDUPFS_ASSIGN(const bool has_index, volume_->exists(kIndexDirectory));
  DEDUPFS_ASSIGN(const bool has_new, volume_->exists(kNewIndex));
  DEDUPFS_ASSIGN(const bool has_salvage, volume_->exists(kSalvage));
  DEDUPFS_ASSIGN(const int old, has_index ? Result<int>(0) : old_indexes());
  if (!has_new && !has_salvage && old == 0) return lines;
  if (!finish) {
    lines.emplace_back("a repair was interrupted; run fsck.dedupfs -y to finish it");
    return lines;
  }
  DEDUPFS_ASSIGN(const bool complete, has_new && !has_index ? is_complete() : Result<bool>(false));
  if (complete) {
    DEDUPFS_TRY(volume_->rename(kNewIndex, *volume_, kIndexDirectory));
    DEDUPFS_TRY(volume_->sync());
    lines.emplace_back("an interrupted repair is finished: its index is in place");
  } else if (old != 0) {
    DEDUPFS_TRY(volume_->rename(old_index(old), *volume_, kIndexDirectory));
    DEDUPFS_TRY(volume_->sync());
    lines.push_back(fmt::format("the index was missing; {} is put back", (volume_->path() / old_index(old)).string()));
  } else if (has_new) {
    lines.emplace_back("an interrupted repair is undone");
  }
  DEDUPFS_TRY(discard());
  return lines;
}

Result<std::optional<Checkpoint>> IndexRepair::newest_checkpoint(CheckReport& report) const {
  DEDUPFS_ASSIGN(const UuidBytes uuid, parse_uuid(superblock_.uuid));
  std::vector<Error> damage;
  auto newest = Checkpoints(volume_, uuid).newest(damage);
  for (const Error& error : damage) report.note(error.message());
  return newest;
}

Result<void> IndexRepair::build(const std::unordered_set<std::uint64_t>& mismatched,
                                const std::vector<HarmfulTable>& harmful, CheckReport& report, const RepairLog& log,
                                const Progress& progress, int first_pass) {
  DEDUPFS_TRY(discard());
  DEDUPFS_ASSIGN(const IndexSurvey survey, survey_index(volume_, kIndexDirectory, kSalvage, harmful));
  for (const std::string& damage : survey.damage) report.note(damage);
  // A value that is no UUID is damage.
  if (survey.volume_uuid && *survey.volume_uuid != superblock_.uuid && parse_uuid(*survey.volume_uuid))
    return Error{ErrorCode::kCorruption,
                 fmt::format("{} belongs to another volume ({}); put back the one that was saved together with this "
                             "volume's containers, or remove it and repair again",
                             (volume_->path() / kIndexDirectory).string(), *survey.volume_uuid)};

  const RecordSource* names = survey.records.get();
  std::optional<Checkpoint> checkpoint;
  if (!survey.namespace_is_whole() || !has(survey, Family::kCounters)) {
    DEDUPFS_ASSIGN(checkpoint, newest_checkpoint(report));
  }
  const bool is_of_checkpoint = checkpoint && !survey.namespace_is_whole();
  if (!survey.namespace_is_whole()) {
    if (checkpoint) {
      names = &*checkpoint;
      log.lost(fmt::format("files and directories are restored from {} of {}; later changes are lost",
                           checkpoint->path().string(), second_text(checkpoint->header().created_unix_seconds)));
    } else if (names != nullptr) {
      log.lost(
          "parts of the index that describe files and directories are lost; the readable rest is used, "
          "and some of it may be outdated");
    } else {
      log.lost(
          "the index of files and directories is lost completely: the volume is empty, but all chunks are still "
          "in its containers");
    }
  }

  DEDUPFS_ASSIGN(const auto folder, volume_->make_and_open_folder(kNewIndex));
  DEDUPFS_TRY(Database::create(folder));
  DEDUPFS_ASSIGN(const auto index, Database::open(folder, {.memory_bytes = kMemoryBytes}));
  DEDUPFS_ASSIGN(auto containers_folder, volume_->open_folder(kContainersDirectory));
  DEDUPFS_ASSIGN(const auto containers,
                 ContainerStore::open(std::move(containers_folder), {.volume_uuid = superblock_.uuid,
                                                                     .container_bytes = superblock_.container_bytes,
                                                                     .read_only = true}));
  DEDUPFS_ASSIGN(auto listed, listed_chunks(survey.records.get()));
  const std::vector<const RecordSource*> with_counters = {survey.records.get(), checkpoint ? &*checkpoint : nullptr};
  DEDUPFS_ASSIGN(const std::uint64_t recorded_container,
                 greatest_counter(with_counters, kNextContainerCounter, UINT32_MAX));
  const std::uint64_t next_container = std::max<std::uint64_t>(recorded_container, containers->next_container());
  const RebuildHints hints{.unreadable = mismatched,
                           .listed = std::move(listed),
                           .old_index = has(survey, Family::kChunks) ? survey.records.get() : nullptr,
                           .end_of_containers = next_container};
  DEDUPFS_ASSIGN(const ChunkTable chunks, rebuild_chunks(*containers, *index, hints, report, progress, first_pass));

  RepairedNamespace repaired;
  RepairedSnapshots snapshots;
  if (names != nullptr) {
    const bool is_whole = is_of_checkpoint || (has(survey, Family::kSnapshots) && has(survey, Family::kBeforeImages));
    DEDUPFS_ASSIGN(SnapshotSurvey found, survey_snapshots(*names, is_whole, chunks, log));
    const bool has_quotas = std::ranges::count(superblock_.incompatible_features, kQuotasFeature) != 0;
    DEDUPFS_ASSIGN(QuotaRecords quotas, find_quotas(with_counters, has_quotas, log));
    const NamespaceRepairScope scope{.names_have_holes = !is_of_checkpoint && !has(survey, Family::kDirents),
                                     .preservation = found.preservation(),
                                     .quotas = std::move(quotas),
                                     .progress = progress,
                                     .pass = first_pass + 1};
    DEDUPFS_ASSIGN(repaired, repair_namespace(*names, chunks, *index, log, scope));
    DEDUPFS_ASSIGN(snapshots, repair_snapshots(*names, std::move(found), chunks, *index, log));
  }

  BulkWriter writer(*index);
  if (superblock_.delta.enabled()) {
    if (has(survey, Family::kFeatureIndex))
      DEDUPFS_TRY(copy_features(*survey.records, writer));
    else
      DEDUPFS_TRY(
          rebuild_feature_index(*containers, *index, superblock_.delta, progress, first_pass + 2, chunks.end()));
  }
  DEDUPFS_ASSIGN(const std::uint64_t next_chunk,
                 greatest_counter(with_counters, kNextChunkIdCounter, kEndOfPlausibleChunkIds));
  DEDUPFS_TRY(put_counter(writer, kNextChunkIdCounter,
                          std::max({next_chunk, chunks.end(), repaired.end_of_chunks, snapshots.end_of_chunks})));
  DEDUPFS_ASSIGN(const std::uint64_t next_snapshot, greatest_counter(with_counters, kNextSnapshotCounter, kEndOfTrees));
  DEDUPFS_TRY(put_counter(writer, kNextSnapshotCounter, std::max(next_snapshot, snapshots.end_of_numbers)));
  DEDUPFS_TRY(put_counter(writer, kNextContainerCounter, next_container));
  const bool has_holds = std::ranges::count(superblock_.read_only_features, kHoldsFeature) != 0;
  DEDUPFS_TRY(repair_holds(with_counters, has_holds, writer, log));
  DEDUPFS_TRY(repair_history(with_counters, writer));
  DEDUPFS_TRY(writer.flush());
  DEDUPFS_TRY(writer.put(Family::kCounters, kVolumeUuidCounter, superblock_.uuid));  // now it is complete
  return writer.flush();
}

Result<std::optional<std::string>> IndexRepair::swap() {
  {
    DEDUPFS_ASSIGN(const auto made, volume_->open_folder(kNewIndex));
    DEDUPFS_TRY(made->sync());
  }
  DEDUPFS_TRY(volume_->sync());
  std::optional<std::string> replaced;
  DEDUPFS_ASSIGN(const bool has_index, volume_->exists(kIndexDirectory));
  if (has_index) {
    DEDUPFS_ASSIGN(const int old, old_indexes());
    replaced = old_index(old + 1);
    DEDUPFS_TRY(volume_->rename(kIndexDirectory, *volume_, *replaced));
    DEDUPFS_TRY(volume_->sync());
  }
  DEDUPFS_TRY(volume_->rename(kNewIndex, *volume_, kIndexDirectory));
  DEDUPFS_TRY(volume_->sync());
  return replaced;
}

Result<void> IndexRepair::discard() {
  DEDUPFS_TRY(remove_tree(*volume_, kNewIndex));
  return remove_tree(*volume_, kSalvage);
}

Result<void> IndexRepair::discard(const std::string& old_index) {
  return remove_tree(*volume_, old_index);
}

}  // namespace dedupfs
