// The write barrier of a reclaim. It stands between the reclaim, which deletes chunks that nobody refers to, and writers, which
// begin to refer to chunks.
//
//   idle      any chunk of the index may be referred to
//   marking   any chunk may be, and claimed chunks are remembered
//   erasing   chunks that were neither marked nor claimed by then are dead: nobody may refer to them any more
//
// Threads: every function from any thread; phases are changed by one thread.
// Memory:  about a bit for each chunk in use while a reclaim runs (store/chunks/chunk_set.h), and 8 bytes for each chunk that was
//          claimed before the mark came to it, until take_claimed().
// Failure: if memory for the marks runs out, every chunk counts as live: require_complete() says so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "store/chunks/chunk_set.h"
#include "store/format/types.h"

namespace dedupfs {

class Liveness {
 public:
  // Held from before a chunk is looked up until it was claimed, so that no phase begins or ends in between.
  class DEDUPFS_SCOPED_CAPABILITY Lookup {
   public:
    explicit Lookup(Liveness& liveness) DEDUPFS_ACQUIRE_SHARED(liveness.mutex_);
    Lookup(const Lookup&) = delete;
    Lookup& operator=(const Lookup&) = delete;
    ~Lookup() DEDUPFS_RELEASE_GENERIC();
    // Whether the chunk may be referred to. False: it is dead; the writer must store its content under another id.
    bool claim(ChunkId id);
    // The chunk was stored just now, perhaps by somebody else who was faster, and is referred to.
    void note_stored(ChunkId id);

   private:
    Liveness& liveness_;
  };

  // Ids from `end` on are new, and live; so are those below that are given away from now on. The marks take
  // `max_bytes` at most.
  void start_marking(std::uint64_t end, std::uint64_t max_bytes = ChunkSet::kMinLimit);
  // Whether it was not marked yet. While marking.
  bool mark(ChunkId id);
  // The chunks that were claimed without a mark since the last call. The mark must reach their sources, too.
  std::vector<ChunkId> take_claimed();
  // Begins to erase, unless something was claimed since take_claimed(): false then.
  bool start_erasing();
  // Ends either phase; does nothing in no phase. By then, no index has the erased chunks, and after `forget` ran, no cache has
  // them.
  void finish(const std::function<void()>& forget);

  // While marking or erasing.
  bool is_live(ChunkId id) const;
  Result<void> require_complete() const;  // kNoMemory: not all marks found room
  bool is_erasing() const;
  std::uint64_t end() const { return end_; }  // as it was given to start_marking()

 private:
  enum class Phase { kIdle, kMarking, kErasing };

  bool set(ChunkId id);  // whether it was not set

  // Those who change the phase wait for lookups to end, and keep new ones out by the turnstile, or they would wait for ever.
  Mutex turnstile_;
  mutable SharedMutex mutex_ DEDUPFS_ACQUIRED_AFTER(turnstile_);
  Phase phase_ DEDUPFS_GUARDED_BY(mutex_) = Phase::kIdle;
  // Changed with mutex_, by the thread that changes phases. That thread reads them without, others in a Lookup.
  std::uint64_t end_ = 0;
  std::optional<ChunkSet> marked_;
  Mutex claimed_mutex_ DEDUPFS_ACQUIRED_AFTER(mutex_);
  std::vector<ChunkId> claimed_ DEDUPFS_GUARDED_BY(claimed_mutex_);
};

}  // namespace dedupfs
