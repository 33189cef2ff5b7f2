// The chunks before and behind a chunk, in the newest stream that had it. If a stream follows an older one, the next chunk's most
// likely base is the chunk behind the last one that was found again. (Xia, Jiang, Feng, Tian: DARE: A deduplication-aware
// resemblance detection and elimination scheme, IEEE Transactions on Computers 2016: "duplicate adjacency".)
//
// A hint, in memory only, for the chunks seen last. For other chunks, the neighbours in order of ids are a good guess, because
// the new chunks of a stream get ids in sequence.
//
// Threads: every function from any thread.
// Memory:  kSlots * 24 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "store/format/types.h"

namespace dedupfs {

class StreamOrder {
 public:
  StreamOrder() : slots_(kSlots) {}

  // `after` follows `before` in a stream.
  void link(ChunkId before, ChunkId after);

  ChunkId after(ChunkId id) const;
  ChunkId before(ChunkId id) const;

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 18;
  static constexpr std::size_t kLocks = 64;

  struct Slot {
    ChunkId id{};      // 0, which no chunk has: free
    ChunkId before{};  // 0: not known
    ChunkId after{};
  };

  static std::size_t index_of(ChunkId id) { return number_of(id) % kSlots; }
  Mutex& lock_of(ChunkId id) const { return locks_[index_of(id) % kLocks]; }
  // The slot for a chunk, also if another chunk has it.
  Slot& take(ChunkId id) DEDUPFS_REQUIRES(lock_of(id));

  std::vector<Slot> slots_;  // ids are dense, so the newest chunks have one each; under lock_of()
  mutable std::array<Mutex, kLocks> locks_;
};

}  // namespace dedupfs
