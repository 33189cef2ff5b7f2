// Stores chunks once and gives them back: fingerprint, deduplication, deltas, regions, containers.
//
// Chunks are put in streams. A Writer belongs to one stream and keeps its chunks together and in order, on disk too;
// the work (fingerprints, look-ups, deltas, compression) is spread over the cores by a pool of threads.
//
// Threads:   every function from any thread; one Writer is used by one thread at a time.
// Ownership: bytes of a batch are shared with the caller until `done` has run.
// Failure:   a put that failed stores nothing that is referred to; reads verify the region's checksum (kCorruption). A
//            chunk that a read found damaged is stored anew, under its id, when its content is put again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "index/commit_participant.h"
#include "index/database.h"
#include "store/chunks/liveness.h"
#include "store/chunks/pending_chunks.h"
#include "store/chunks/pinned_bytes.h"
#include "store/containers/container_store.h"
#include "store/format/superblock.h"
#include "store/format/types.h"
#include "store/relocation/defragmentation.h"
#include "store/relocation/in_group.h"
#include "store/relocation/ordered_move.h"
#include "store/relocation/recent_references.h"
#include "store/relocation/reencode.h"

namespace dedupfs {

inline constexpr std::string_view kNextChunkIdCounter = "next_chunk_id";  // no chunk has this id or a higher one
inline constexpr std::string_view kDroppedBytesCounter = "dropped_bytes";

class ChunkStore final : public CommitParticipant {
 public:
  struct Settings {
    Compression compression;
    DeltaSettings delta;
    std::uint32_t region_bytes = 256 * 1024;
    std::uint64_t cache_bytes = 256 << 20;
    std::uint64_t waiting_region_bytes = 32 << 20;  // of regions that are not on disk yet; who brings more waits
    std::size_t threads = 0;                        // 0: one a core
    std::uint32_t first_unknown_container = 1;      // the index knows none from here on
    bool read_only = false;
  };

  // Consecutive chunks of one stream.
  struct Batch {
    std::shared_ptr<const void> owner;  // keeps the bytes alive
    std::vector<ByteSpan> chunks;       // none empty
    // Extents once, on a thread of the pool, in the order of the put()s of the Writer. `ids` match `chunks`. It must not throw;
    // the store has given up `owner` by then.
    std::function<void(Result<std::vector<ChunkId>> ids)> done;
  };

  class Writer {
   public:
    ~Writer();              // no put may be in progress
    void put(Batch batch);  // if it throws (std::bad_alloc), `done` does not run

   private:
    friend class ChunkStore;
    struct State;
    explicit Writer(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
  };

  static Result<std::unique_ptr<ChunkStore>> open(std::shared_ptr<ContainerStore> containers, Database& database,
                                                  const Settings& settings);
  ~ChunkStore() override;

  std::unique_ptr<Writer> open_writer();
  // What a Writer takes: the region that it fills.
  std::uint64_t writer_bytes() const;

  // All bytes of a chunk, in memory that stays as long as the owner is held.
  Result<PinnedBytes> get(ChunkId id);
  // Starts loading what these chunks need, in the background.
  void prefetch(std::vector<ChunkId> ids);

  // What a freeze() closes. Right after it, which may throw, freeze() throws nothing.
  void close_regions();
  // Closes all open regions and sets aside what the index has to learn. No put may be in progress.
  void freeze() override;
  // Waits until all chunks of the frozen group are on disk, durably, then adds their index entries.
  Result<void> append_to(Database::Batch& batch) override;
  void committed() override;
  void failed(CommitFailure failure) override;

  // What is known of damage: chunks that could not be read when somebody wanted to, here or at an earlier mount, and those
  // that were stored anew since this one.
  struct Damage {
    std::uint64_t damaged_chunks = 0;
    std::uint64_t healed_chunks = 0;
  };
  Damage damage() const;
  // Somebody found it damaged by other means than get().
  void note_damaged(ChunkId id);

  // For reclaim (reclaim.h). What changes the index becomes part of the open group.
  Liveness& liveness();
  std::uint64_t end_of_ids() const;  // none was given away from here on
  void erase(ErasedChunks chunks);   // within the group
  // Ends what started with liveness().start_marking().
  void finish_reclaim();
  // Stores the `chunks` that the index has in this container elsewhere; the container is removed once the group is committed.
  // Nothing may be appended to it any more, and what was must be committed. Failure: see evacuate_container(); nothing is
  // removed then.
  Result<void> evacuate(std::uint32_t container, std::uint64_t chunks, const InGroup& in_group);
  // Moves them in this order; see ordered_move.h.
  Result<MovedChunks> move_in_order(const std::vector<ChunkId>& order, const BetweenBatches& between,
                                    const InGroup& in_group);
  // Stores a delta anew, made from other chunks; see reencode.h. Only where the volume has deltas.
  Result<std::uint32_t> reencode(const ChunkExtent& extent, ChunkId id, const std::vector<DeltaBasis>& bases,
                                 const std::function<bool(ChunkId)>& may_be_source, std::uint64_t max_bytes,
                                 const InGroup& in_group);
  bool is_pending(ChunkId id) const;  // stored, or moved, and not committed yet
  // Hints that lead to chunks that are not live are dropped from the index of features.
  Result<void> forget_dead_features();

  // For rewriting (defragmentation.h): what streams refer to is noted once that was started.
  RecentReferences& recent_references();
  // Within some percent of the bytes of the window, which must be committed. Part of the open group.
  Result<DefragmentationFindings> rewrite(const RecentReferences::Window& window, unsigned percent,
                                          const InGroup& in_group);
  // Held by whoever moves chunks, so that nobody else does: a reclaim, or a rewriting, which gives way.
  std::unique_lock<std::mutex> start_moving();
  std::unique_lock<std::mutex> try_moving();

  // Files no longer refer to so many bytes of chunks, to which others may refer: the measure of what a reclaim may find.
  // Remembered over mounts.
  void note_dropped(std::uint64_t bytes);
  std::uint64_t dropped_bytes() const;
  void forget_dropped(std::uint64_t bytes);  // a reclaim has looked at them

  // Bytes of new chunks that are packed but not on disk yet.
  std::uint64_t waiting_bytes() const;

  // Whether the open group has anything that a commit would make durable.
  bool has_changes() const;
  // About how much memory the open group's index takes: the signal for an early commit.
  std::size_t open_bytes() const;

  // For everybody's background work (flushing files, read-ahead).
  ThreadPool& pool();

 private:
  struct State;
  explicit ChunkStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dedupfs
