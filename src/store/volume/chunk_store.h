// Stores chunks once and gives them back. This object joins the parts and makes them one participant of a commit:
//
//   ingest/      new chunks: fingerprint, look-up, delta, pack, compress, append (Ingest, ChunkWriter)
//   chunks/      stored chunks: index, reading, damage, liveness
//   relocation/  moving, re-encoding, erasing stored chunks (Relocator, Erasure)
//
// Threads: every function from any thread; freeze() and what follows it as CommitParticipant says.
// Failure: reads verify the region's checksum (kCorruption). For writes see ChunkWriter.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/meter.h"
#include "base/result.h"
#include "index/commit_participant.h"
#include "index/database.h"
#include "store/chunks/pinned_bytes.h"
#include "store/containers/container_store.h"
#include "store/format/superblock.h"
#include "store/format/types.h"

namespace dedupfs {

// Whoever uses a part includes its header.
class ChunkReader;
class ChunkWriter;
class DamageRecord;
class DroppedBytes;
class Erasure;
class IngestMeter;
class RecentReferences;
class Relocator;

class ChunkStore final : public CommitParticipant {
 public:
  struct Settings {
    CompressionTiers compression;
    DeltaSettings delta;
    std::uint32_t region_bytes = Superblock().region_bytes;
    std::uint64_t cache_bytes = 256 << 20;
    std::uint64_t waiting_region_bytes = 32 << 20;  // of regions that are not on disk yet; at the cap, writers wait
    std::size_t threads = 0;                        // 0: one a core
    std::uint64_t slow_bytes = 0;                   // see ArrivalRate
    std::uint64_t far_delta_bytes_an_hour = 0;      // see FarBudget
    std::uint32_t first_unknown_container = 1;      // the index knows none from here on
    bool read_only = false;
  };

  static Result<std::unique_ptr<ChunkStore>> open(std::shared_ptr<ContainerStore> containers, Database& database,
                                                  const Settings& settings);
  ~ChunkStore() override;

  std::unique_ptr<ChunkWriter> open_writer();
  // The memory of a writer: the region that it fills.
  std::uint64_t writer_bytes() const;

  // All bytes of a chunk, in memory that stays as long as the owner is held.
  Result<PinnedBytes> get(ChunkId id);
  // Starts loading what these chunks need, in the background.
  void prefetch(std::vector<ChunkId> ids);

  // Closes the regions that freeze() would close. This may throw. A freeze() right after it throws nothing.
  void close_regions();
  // Closes all open regions and sets aside the new entries for the index. No put may be in progress.
  void freeze() override;
  // Waits until all chunks of the frozen group are on disk, durably, then adds their index entries.
  Result<void> append_to(Database::Batch& batch) override;
  void committed() override;
  void failed(CommitFailure failure) override;

  // Whether the open group has anything that a commit would make durable.
  bool has_changes() const;
  // About how much memory the open group's index takes: the signal for an early commit.
  std::size_t open_bytes() const;
  // Bytes of new chunks that are packed but not on disk yet.
  std::uint64_t waiting_bytes() const;
  // The bytes that moved chunks were stored in since the volume was opened, on disk.
  std::uint64_t moved_disk_bytes() const;

  IngestMeter& ingest_meter();
  MeterReadings readings() const;

  DamageRecord& damage();
  DroppedBytes& dropped();
  RecentReferences& recent_references();  // what streams refer to is noted once that was started
  Relocator& relocator();
  Erasure& erasure();
  ChunkReader& reader();  // for chunks as they are stored

 private:
  struct State;
  explicit ChunkStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dedupfs
