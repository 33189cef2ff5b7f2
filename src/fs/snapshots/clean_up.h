// Deletes in the background, in small steps between commits: unlinked inodes that nobody holds, and the records of deleted
// snapshots.
//
// Threads:   step() on the committer's thread; the rest from any thread.
// Ownership: owns the reaper of snapshots. All constructor arguments must outlive it.
// Failure:   logged. The next mount at the latest finds unfinished work again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "fs/inodes/orphan_reaper.h"
#include "fs/transactions/transactions.h"
#include "store/metadata/snapshot_reaper.h"
#include "store/volume/volume.h"

namespace dedupfs {

class CleanUp {
 public:
  // `group_bytes`: it asks for a commit when the open group has more.
  CleanUp(Volume& volume, OrphanReaper& orphans, Transactions& transactions, std::uint64_t group_bytes);

  // True if there is more to do.
  bool step();
  // Waits until everything that was deleted before the call is gone. It calls `check_cancelled` meanwhile; an Error of that
  // ends the wait. Call it without locks.
  Result<void> await(const std::function<Result<void>()>& check_cancelled);

  // In its scope, nothing is deleted in the background.
  class Pause {
   public:
    explicit Pause(CleanUp& clean_up) : clean_up_(clean_up) { clean_up_.is_paused_ = true; }
    ~Pause() {
      clean_up_.is_paused_ = false;
      clean_up_.transactions_.request_clean_up();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    CleanUp& clean_up_;
  };

 private:
  Volume& volume_;
  OrphanReaper& orphans_;
  Transactions& transactions_;
  const std::uint64_t group_bytes_;
  SnapshotReaper snapshots_;
  std::atomic<bool> is_paused_{false};
};

// Tells the chunk store that a tree dropped the data of this record. Other files may still refer to all of the data. Only the
// mark of a reclaim finds out whether they do.
void note_dropped(ChunkStore& chunks, Family family, std::string_view value);

}  // namespace dedupfs
