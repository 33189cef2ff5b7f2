// What goes in the background, in small steps between commits: unlinked inodes that nobody holds, and what deleted snapshots
// leave.
//
// Threads:   step() on the committer's thread; the rest from any thread.
// Ownership: owns the reaper of snapshots. Everything that it is given must outlive it.
// Failure:   logged. What is left undone is found again, at the next mount at the latest.
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
  // Waits until what is deleted by now is gone. `check_cancelled` is asked meanwhile; an Error of it ends the wait. Call it without locks.
  Result<void> await(const std::function<Result<void>()>& check_cancelled);

  // Nothing is deleted in the background in its scope.
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

// Tells the chunk store what a tree no longer has. Others may have all of it still; whether they do is known after the mark of a
// reclaim.
void note_dropped(ChunkStore& chunks, Family family, std::string_view value);

}  // namespace dedupfs
