#include "store/volume/volume.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/crash_point.h"
#include "base/size.h"
#include "chunkers/registry.h"
#include "index/counters.h"
#include "index/table_check.h"
#include "store/format/container_format.h"
#include "store/ingest/ingest_meter.h"
#include "store/seal/sealed_folder.h"
#include "store/volume/disk_reserve.h"
#include "store/volume/ownership.h"
#include "store/volume/vacant_folder.h"
#include "store/volume/volume_lock.h"

namespace dedupfs {
namespace {

// ---------------------------------------------------------------- open

Result<std::shared_ptr<BackingFolder>> require_folder(BackingFolder& volume, std::string_view name) {
  auto folder = volume.open_folder(name);
  if (folder || folder.error().code() != ErrorCode::kNotFound) return folder;
  return Error{ErrorCode::kCorruption, (volume.path() / name).string() + " is missing"};
}

Error with_remedy(const Error& error, const Path& volume) {
  if (error.code() != ErrorCode::kCorruption && error.code() != ErrorCode::kNotFound) return error;
  return Error{ErrorCode::kCorruption, error.message() + "; run fsck.dedupfs -y " + volume.string()};
}

Result<void> require_harmless(const std::shared_ptr<BackingFolder>& index, const Path& volume) {
  DEDUPFS_ASSIGN(const auto tables, harmful_tables(index));
  if (tables.empty()) return {};
  return with_remedy({ErrorCode::kCorruption, tables.front().harm}, volume);
}

Result<void> require_index_of(const Superblock& superblock, const Database& database, const Path& path) {
  DEDUPFS_ASSIGN(const auto uuid, database.get(Family::kCounters, kVolumeUuidCounter));
  if (uuid == superblock.uuid) return {};
  if (uuid && !parse_uuid(*uuid))
    return Error{ErrorCode::kCorruption, fmt::format("{}: its record of the volume that it belongs to is damaged; run "
                                                     "fsck.dedupfs -y to repair it",
                                                     path.string())};
  return Error{ErrorCode::kCorruption,
               fmt::format("{} belongs to another volume ({}, but this one is {}); put back the "
                           "index that was saved together with this volume's containers",
                           path.string(), uuid.value_or("without a uuid"), superblock.uuid)};
}

// 1 if there is none.
Result<std::uint32_t> load_container_number(const Database& database, std::string_view counter) {
  DEDUPFS_ASSIGN(const auto stored, get_number(database, counter));
  const std::uint64_t number = stored.value_or(1);
  if (number == 0 || !std::in_range<std::uint32_t>(number))
    return Error{ErrorCode::kCorruption, "the counter " + std::string(counter) + " is damaged"};
  return static_cast<std::uint32_t>(number);
}

}  // namespace

Result<std::shared_ptr<BackingFolder>> Volume::open_folder(const Path& path, const std::shared_ptr<Backing>& backing) {
  return backing->open_root(path);
}

Result<std::unique_ptr<Volume>> Volume::open(const Path& path, const VolumeOptions& options,
                                             const std::shared_ptr<Backing>& backing) {
  DEDUPFS_ASSIGN(auto folder, open_folder(path, backing));
  return open(std::move(folder), options);
}

Result<std::unique_ptr<Volume>> Volume::open(std::shared_ptr<BackingFolder> folder, const VolumeOptions& options) {
  std::unique_ptr<Volume> volume(new Volume);
  volume->folder_ = std::move(folder);
  volume->options_ = options;
  DEDUPFS_TRY(volume->open_parts());
  return volume;
}

// A crash while a volume was made can leave one of the copies only. It is enough to go on.
void Volume::repair_superblock_copies() {
  const auto repaired = repair_superblock(*folder_);
  if (!repaired)
    spdlog::warn("{}", repaired.error().message());
  else if (*repaired)
    spdlog::warn("{} was missing or damaged, and is whole again", (path() / **repaired).string());
}

std::vector<Error> Volume::superblock_damage() const {
  std::vector<Error> damage = damage_of_superblocks(*folder_);
  std::ranges::move(damage_of_hidden_key_header(*folder_), std::back_inserter(damage));
  return damage;
}

Result<void> Volume::open_parts() {
  if (!options_.foreign && !options_.locked) DEDUPFS_TRY(require_own_or_busy(*folder_));
  DEDUPFS_ASSIGN(superblock_, read_superblock(*folder_));
  if (!options_.read_only) DEDUPFS_TRY(require_writable(superblock_));
  DEDUPFS_TRY(default_isa());  // a wrong environment is not the volume's fault
  auto chunker = make_chunker(superblock_.chunker);
  if (!chunker)
    return Error{ErrorCode::kUnsupported, path().string() + " was made with the chunker '" + superblock_.chunker +
                                              "', which cannot be had here: " + chunker.error().message() +
                                              "; take the dedupfs that made the volume, or a newer one"};
  chunker_ = std::move(*chunker);

  if (!options_.locked) {
    DEDUPFS_ASSIGN(lock_, take_lock(*folder_, options_.read_only));
    // Whoever had the lock before may have changed it.
    DEDUPFS_ASSIGN(superblock_, read_superblock(*folder_));
    if (!options_.read_only) DEDUPFS_TRY(require_writable(superblock_));
  }
  crash_point("mount.locked");

  if (!options_.read_only) repair_superblock_copies();

  const auto index = require_folder(*folder_, kIndexDirectory);
  if (!index) return with_remedy(index.error(), path());
  const auto containers = require_folder(*folder_, kContainersDirectory);
  if (!containers) return containers.error().with("the chunks of the volume are not there; restore it from a backup");
  const std::uint64_t log_bytes = log_bytes_in(**index);
  was_closed_ = log_bytes == 0;
  if (!was_closed_) options_.when_recovering(log_bytes);
  if (options_.foreign && !options_.locked) DEDUPFS_TRY(require_harmless(*index, path()));
  if (!options_.read_only) ballast_ = std::make_unique<Ballast>(folder_, *index);
  auto database = open_database(*index);
  if (!database) return with_remedy(database.error(), path());
  database_ = std::move(*database);
  crash_point("mount.index-open");
  DEDUPFS_TRY(require_index_of(superblock_, *database_, (*index)->path()));
  DEDUPFS_ASSIGN(snapshots_, SnapshotList::load(*database_));
  metadata_ = std::make_unique<Metadata>(*database_, *snapshots_);

  const auto loaded = load_container_number(*database_, kNextContainerCounter);
  if (!loaded) return with_remedy(loaded.error(), path());
  const std::uint32_t next_container = *loaded;
  const auto first_landed = load_container_number(*database_, kFirstLandedCounter);
  if (!first_landed) spdlog::warn("{}: all containers are looked at", first_landed.error().message());
  end_of_gathered_ = load_container_number(*database_, kEndOfGatheredCounter).value_or(1);  // damaged: from all again
  DEDUPFS_ASSIGN(const Backing::Space space, (*containers)->space());
  DEDUPFS_ASSIGN(
      containers_,
      ContainerStore::open(*containers, {.volume_uuid = superblock_.uuid,
                                         .container_bytes = container_bytes_on(space, superblock_.container_bytes),
                                         .next_container = next_container,
                                         .first_landed = first_landed.value_or(1),
                                         .read_only = options_.read_only}));
  const CompressionTiers compression{.settled = options_.settled.value_or(superblock_.compression.settled),
                                     .landing = options_.landing.value_or(superblock_.compression.landing)};
  if (!compression.are_in_order())
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("the landing compression {} is stronger than the settled one, {}: settling would make data "
                    "larger",
                    format_compression(compression.landing), format_compression(compression.settled))};
  auto chunks = ChunkStore::open(containers_, *database_,
                                 {.compression = compression,
                                  .delta = superblock_.delta,
                                  .region_bytes = superblock_.region_bytes,
                                  .cache_bytes = options_.cache_bytes,
                                  .waiting_region_bytes = options_.waiting_region_bytes,
                                  .threads = options_.threads,
                                  .slow_bytes = options_.slow_bytes,
                                  .far_delta_bytes_an_hour = options_.far_delta_bytes_an_hour,
                                  .first_unknown_container = next_container,
                                  .read_only = options_.read_only});
  if (!chunks) return with_remedy(chunks.error(), path());
  chunks_ = std::move(*chunks);
  next_container_ = std::make_unique<CommittedNumber>(
      kNextContainerCounter, [this] { return containers_->next_container(); }, next_container);
  first_landed_ = std::make_unique<CommittedNumber>(
      kFirstLandedCounter, [this] { return containers_->first_landed(); }, first_landed.value_or(0));
  gathered_ = std::make_unique<CommittedNumber>(
      kEndOfGatheredCounter, [this] { return end_of_gathered(); }, end_of_gathered_);
  // `chunks` and `next_container` describe the appended regions. The chunk store appends regions, so it comes first.
  participants_ = {chunks_.get(),         first_landed_.get(), gathered_.get(),
                   next_container_.get(), metadata_.get(),     snapshots_.get()};
  if (ballast_) ballast_->keep();
  return {};
}

// On a disk that others have filled, with the room that was kept for that.
Result<std::unique_ptr<Database>> Volume::open_database(const std::shared_ptr<BackingFolder>& index) {
  const Database::Settings settings{.memory_bytes = options_.index_memory_bytes,
                                    .read_only = options_.read_only,
                                    .patience = options_.index_patience};
  if (ballast_ && ballast_->release_if_scarce())
    spdlog::warn("the disk of {} is full: the room that was kept for the mount is used", path().string());
  auto opened = Database::open(index, settings);
  if (opened || opened.error().code() != ErrorCode::kNoSpace || !ballast_ || !ballast_->release()) return opened;
  return Database::open(index, settings);
}

Result<std::shared_ptr<const void>> Volume::lock(BackingFolder& folder, bool read_only) {
  DEDUPFS_ASSIGN(auto lock, take_lock(folder, read_only));
  const auto release = [read_only](BackingFile* held) {
    if (held != nullptr && !read_only) (void)held->truncate(0);  // nobody to name any more
    delete held;
  };
  return std::shared_ptr<const void>(std::shared_ptr<BackingFile>(lock.release(), release));
}

Volume::~Volume() {
  if (lock_ && !options_.read_only && !has_lost_changes_) (void)lock_->truncate(0);  // nobody to name any more
  if (ballast_ && chunks_) ballast_->keep_least();  // the log becomes tables now, and may take the room
}

void Volume::warn_of_small_index_memory() {
  if (warned_of_index_memory_) return;
  const Database::FilterMemory memory = database_->filter_memory();
  if (memory.wanted_bytes == 0) return;
  warned_of_index_memory_ = true;
  spdlog::warn(
      "the filters of the index take {}, more than fits into its memory of {}: new data is stored more slowly, since "
      "look-ups read the disk; mount with -o index_mem={}m or more",
      human_size(memory.filter_bytes), human_size(memory.memory_bytes), memory.wanted_bytes >> 20);
}

void Volume::freeze() {
  DEDUPFS_CHECK(!options_.read_only);  // the caller's mount is writable
  // Steps that can fail for lack of memory come first: recipes must not be committed without their chunks.
  chunks_->close_regions();
  metadata_->freeze();
  for (CommitParticipant* const participant : participants_)
    if (participant != metadata_.get()) participant->freeze();
}

// The order is what makes a crash at any moment leave the state of the last commit: chunks are durable in their
// containers before anything points to them; the index entries of the chunks and the recipes that use them go into one
// atomic batch; and the groups in memory are dropped only after the batch is readable below them.
Result<void> Volume::commit() {
  if (!has_frozen()) return {};
  Result<void> committed = attempt_commit();
  if (!committed && committed.error().code() == ErrorCode::kNoSpace && ballast_->release())
    committed = attempt_commit();
  return committed;
}

Result<void> Volume::attempt_commit() {
  Result<void> written = write_frozen();
  if (!written) {
    for (CommitParticipant* const participant : participants_) participant->failed(failure_of(written.error().code()));
    return written;
  }
  crash_point("commit.index-written");
  for (CommitParticipant* const participant : participants_) participant->committed();
  if (const std::uint32_t next = containers_->next_container(); next != judged_container_) {
    judged_container_ = next;
    warn_of_small_index_memory();
  }
  crash_point("commit.dropped");
  return {};
}

Result<void> Volume::write_frozen() {
  Database::Batch batch(*database_);
  for (CommitParticipant* const participant : participants_) DEDUPFS_TRY(participant->append_to(batch));
  if (batch.empty()) return {};
  ballast_->keep_with(batch.size_bytes());
  StageTimer timer(chunks_->ingest_meter());
  auto written = database_->write(batch);
  timer.end(IngestStage::kCommit, batch.size_bytes());
  return written;
}

}  // namespace dedupfs
