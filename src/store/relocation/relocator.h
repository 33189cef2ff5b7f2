// Moves stored chunks, or stores them in another form. Ids stay, so no recipe changes.
//
// Threads: one user at a time, which holds start_moving() or try_moving(): a reclaim, or a defragmentation, which gives way.
//          Writers and readers go on. reencode() may be called by several threads of the one user.
// Failure: an Error of the disk, of the index, or of the owner of the groups. A chunk that moved meanwhile, or is being stored by
//          another thread, stays where it is.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "store/chunks/chunk_index.h"
#include "store/chunks/dropped_bytes.h"
#include "store/ingest/recent_references.h"
#include "store/relocation/delta_basis.h"
#include "store/relocation/in_group.h"
#include "store/relocation/moved_chunks.h"
#include "store/relocation/relocation_parts.h"

namespace dedupfs {

class Relocator {
 public:
  Relocator(const RelocationParts& parts, DroppedBytes& dropped) : parts_(parts), dropped_(dropped) {}

  // Held by the one user until the thread that took it drops it.
  struct EndMoving {
    // No analysis: the token has had the lock since start_moving() or try_moving().
    void operator()(Mutex* moving) const DEDUPFS_NO_THREAD_SAFETY_ANALYSIS { moving->unlock(); }
  };
  using Moving = std::unique_ptr<Mutex, EndMoving>;
  // Waits for its turn. No analysis: the token has the lock when this returns.
  Moving start_moving() DEDUPFS_NO_THREAD_SAFETY_ANALYSIS {
    moving_.lock();
    return Moving(&moving_);
  }
  // Null: somebody else is moving.
  Moving try_moving() { return Moving(moving_.try_lock() ? &moving_ : nullptr); }

  // Moves the `chunks` chunks that the index has in this container, region by region, each region as one change. Deltas stay
  // deltas. The container is removed once the group is committed. Nothing may be appended to it any more, and its chunks must be
  // committed. kCorruption if any of these chunks cannot be read; kBusy if another thread is storing some of them. Chunks that
  // have moved by then stay moved, and the container stays.
  // Cost: a look-up in the index for each extent. For regions without live chunks only the directory is read.
  Result<void> evacuate(std::uint32_t container, std::uint64_t chunks, const InGroup& in_group);

  // Moves chunks in the order in which a reader will need them. Afterwards they lie together in that order. A chunk that cannot be
  // read stays where it is. An Error of `between` ends the move. `moved` counts what has moved, after an Error, too.
  // Cost:   each region is read once for each batch of the order that needs it. If a move of several batches has to decode more
  //         than `max_decoded` times the bytes that it moves, the rest stays where it is.
  // Memory: the bytes of a batch, and some 250 for each chunk of it.
  static constexpr std::uint64_t kAnyDecoded = std::numeric_limits<std::uint64_t>::max();
  Result<void> move_in_order(const std::vector<ChunkId>& order, const BetweenBatches& between, const InGroup& in_group,
                             std::uint64_t max_decoded, MovedChunks& moved);

  // Keeps recently written data fast to read. It stores chunks that are scattered over old regions once more, together and in the
  // order in which a stream needs them. See docs/reclaim.md, "Fragmentation". The references of the window must be committed.
  // Chunks of up to `percent` per cent of its bytes may move. Deltas of up to `percent` per cent of its new bytes may become
  // whole chunks: by so much a volume can grow. A delta is stored whole, after a comparison with its fingerprint, because its
  // sources are what is scattered.
  // Cost:   a look-up in the index for each extent that the stream needs, and a read of each chunk that is stored again.
  // Memory: about 100 bytes a reference, and the memory of ChunkMover.
  Result<MovedBytes> defragment(const RecentReferences::Window& window, unsigned percent, const InGroup& in_group);

  // Stores a delta once more, under its id: made from other chunks than before, or from none. Only in a volume with deltas.
  // `extent` is the index's extent of the chunk. The bases are tried in order until one gives a delta that is about as short as
  // the old one, then chunks with features in common. Only allowed chunks become sources. Returns the bytes of the chunk then,
  // before compression. If these are more than `max_bytes`, nothing was done. The depth of a chunk never grows. Every source of a
  // delta is always less deep than the delta. So no circle can arise, and deltas of the chunk stay readable.
  // Failure: kCorruption or kIo if the chunk cannot be read or differs from its fingerprint. It stays as it is, since deltas may
  //          have been made from those bytes. kBusy if another thread is storing it, or has stored it.
  Result<std::uint32_t> reencode(const ChunkExtent& extent, ChunkId id, const std::vector<DeltaBasis>& bases,
                                 const std::function<bool(ChunkId)>& may_be_source, std::uint64_t max_bytes,
                                 const InGroup& in_group);

 private:
  const RelocationParts parts_;
  DroppedBytes& dropped_;
  Mutex moving_;
};

}  // namespace dedupfs
