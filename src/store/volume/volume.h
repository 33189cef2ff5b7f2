// An open volume: the superblock, the lock, the database with its overlay, the chunk store; and the commit of a transaction group
// over both.
//
// Ownership: owns everything below. The owner of the Volume closes it last. Changes that are not committed by then are lost.
// Threads:   parts are safe as they say. freeze() needs that no operation is half done; commit() runs beside operations. Both are
//            called by one thread at a time.
// Failure:   opening says what is wrong and what to do. After a failed commit the group stays frozen, everybody goes on reading
//            it, and commit() may be called again. If a repeat cannot help (see ContainerStore::sync and Database), every later
//            commit() fails, too.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "chunkers/chunker.h"
#include "index/commit_participant.h"
#include "index/database.h"
#include "store/containers/container_store.h"
#include "store/format/superblock.h"
#include "store/ingest/arrival_rate.h"
#include "store/metadata/metadata.h"
#include "store/volume/ballast.h"
#include "store/volume/chunk_store.h"

namespace dedupfs {

inline constexpr std::string_view kNextContainerCounter =
    "next_container";  // no container has this number or a higher one
inline constexpr std::string_view kFirstLandedCounter =
    "first_landed_container";  // no container with a lower number is to be settled
inline constexpr std::string_view kEndOfGatheredCounter =
    "end_of_gathered_containers";  // settling has gathered since lower ones were written

struct VolumeOptions {
  bool read_only = false;
  // For root: others who can write to the volume are trusted (store/volume/ownership.h). Tables that were forged to harm RocksDB
  // still do not reach it: all tables are judged first (index/table_check.h).
  bool foreign = false;
  bool locked = false;  // the caller holds the volume's lock(), and has seen to what `foreign` is about
  std::uint64_t index_memory_bytes = Database::Settings().memory_bytes;
  // A call of the index that waits so long for nothing fails: index/database_watch.h.
  std::chrono::milliseconds index_patience = Database::Settings().patience;
  std::uint64_t cache_bytes = ChunkStore::Settings().cache_bytes;  // decoded regions
  std::uint64_t waiting_region_bytes = ChunkStore::Settings().waiting_region_bytes;
  std::size_t threads = 0;  // of the ingest pipeline; 0: one a core
  // Called when the volume was not closed, before the log of the index is replayed, which may take a while.
  std::function<void(std::uint64_t log_bytes)> when_recovering = [](std::uint64_t) {};
  // Instead of what the superblock says, for what is written now.
  std::optional<Compression> settled;
  std::optional<Compression> landing;
  // So much in a quarter of a second is compressed for good at once; 0: nothing is (store/ingest/arrival_rate.h).
  std::uint64_t slow_bytes = ArrivalRate::kSlowBytes;
  // What new chunks may fetch from far away to become deltas (store/ingest/far_budget.h).
  std::uint64_t far_delta_bytes_an_hour = 0;
};

// The settings that mkfs gets.
struct VolumeSettings {
  std::string chunker;  // spec; empty: the default
  CompressionTiers compression;
  std::optional<DeltaSettings> delta;  // absent: the default
  std::uint32_t region_bytes = Superblock().region_bytes;
  std::string label;
  bool foreign = false;  // as root: the folder may be another user's
};

// Many functions: it owns all parts of a volume, and hands them out.
class Volume {
 public:
  // Makes a volume in `path`, which must not exist or be an empty folder (kExists for a volume, otherwise kNotEmpty).
  // Nothing is left of it after a failure; after a crash there is either a whole volume or none.
  static Result<Superblock> create(const Path& path, const VolumeSettings& settings,
                                   const std::shared_ptr<Backing>& backing = Backing::posix());
  // kNotFound: no volume there; kBusy: in use (read-only openers share it with each other, not with a writer);
  // kReadOnly: it lies on a read-only disk; kVersion, kUnsupported: made by a newer dedupfs; kCorruption: parts are
  // missing, damaged or of another volume; kNotPermitted: see VolumeOptions::foreign. If it is opened read-only, nothing is
  // written, and the volume may lie on a read-only disk.
  static Result<std::unique_ptr<Volume>> open(const Path& path, const VolumeOptions& options,
                                              const std::shared_ptr<Backing>& backing = Backing::posix());
  // The same in a folder that open_folder() gave.
  static Result<std::unique_ptr<Volume>> open(std::shared_ptr<BackingFolder> folder, const VolumeOptions& options);
  // The folder at `path`, whatever is in it. kNotFound: there is none.
  static Result<std::shared_ptr<BackingFolder>> open_folder(const Path& path,
                                                            const std::shared_ptr<Backing>& backing = Backing::posix());
  // Keeps others out of a volume for as long as it is held, as open() does by itself: for those who work on a volume that
  // may not open. Shared with other readers if read_only. kBusy names the process that has it.
  static Result<std::shared_ptr<const void>> lock(BackingFolder& folder, bool read_only);
  ~Volume();
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  const Path& path() const { return folder_->path(); }  // absolute: a daemon leaves its folder
  const Superblock& superblock() const { return superblock_; }
  const Chunker& chunker() const { return *chunker_; }
  bool read_only() const { return options_.read_only; }
  // Whether the last user closed it in good order; false after a crash.
  bool was_closed() const { return was_closed_; }
  // Changes are lost, so it will not be closed in good order: the lock keeps the process id, as after a crash.
  void note_lost_changes() { has_lost_changes_ = true; }
  Metadata& metadata() { return *metadata_; }
  SnapshotList& snapshots() { return *snapshots_; }
  ChunkStore& chunks() { return *chunks_; }
  ContainerStore& containers() { return *containers_; }
  Database& database() { return *database_; }
  const std::shared_ptr<BackingFolder>& folder() const { return folder_; }
  // As damage_of_superblocks(), and of the key header of an encrypted volume.
  std::vector<Error> superblock_damage() const;

  // Ends the open transaction group and opens the next. No operation and no put may be half done, and no group be
  // frozen.
  void freeze();
  bool has_frozen() const { return metadata_->has_frozen(); }
  // Makes the frozen group, if there is one, durable: chunks first, then one atomic batch. See commit_participant.h.
  Result<void> commit();

  // Settling has gathered what was stored in containers below this one. Durable with the next commit.
  std::uint32_t end_of_gathered() const { return end_of_gathered_; }
  void note_gathered(std::uint32_t end) {
    end_of_gathered_ = end;
    gathered_bytes_ = 0;
  }
  // What gatherings that were stopped have moved since then. Not remembered over mounts.
  std::uint64_t gathered_bytes() const { return gathered_bytes_; }
  void add_gathered_bytes(std::uint64_t bytes) { gathered_bytes_ += bytes; }

  // Says once in the log that the filters of the index have outgrown its memory, if they have. Commits look, too.
  void warn_of_small_index_memory();

 private:
  Volume() = default;
  void repair_superblock_copies();
  Result<void> open_parts();
  Result<std::unique_ptr<Database>> open_database(const std::shared_ptr<BackingFolder>& index);
  Result<void> attempt_commit();
  Result<void> write_frozen();

  VolumeOptions options_;
  std::shared_ptr<BackingFolder> folder_;
  std::unique_ptr<Ballast> ballast_;  // null: read-only
  bool was_closed_ = true;
  bool has_lost_changes_ = false;
  std::unique_ptr<BackingFile> lock_;  // null: reading a volume that no writer ever opened
  Superblock superblock_;
  std::unique_ptr<Chunker> chunker_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<SnapshotList> snapshots_;
  std::unique_ptr<Metadata> metadata_;
  std::shared_ptr<ContainerStore> containers_;
  std::unique_ptr<ChunkStore> chunks_;
  std::unique_ptr<CommitParticipant> next_container_;
  std::unique_ptr<CommitParticipant> first_landed_;
  std::atomic<std::uint32_t> end_of_gathered_ = 1;
  std::atomic<std::uint64_t> gathered_bytes_ = 0;
  std::unique_ptr<CommitParticipant> gathered_;
  std::vector<CommitParticipant*> participants_;  // in the order in which they append to the batch
  bool warned_of_index_memory_ = false;
  std::uint32_t judged_container_ = 0;  // the next container when the index was last judged by its memory
};

}  // namespace dedupfs
