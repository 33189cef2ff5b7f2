// The mutex of renames: while a thread holds it, no other one changes the parent of a directory. So the result of a walk up the
// tree stays true.
//
// Threads: every function from any thread. Take the lock before the quiesce gate and all name locks.
#pragma once

#include <utility>

#include "base/mutex.h"
#include "fs/inodes/ancestry.h"
#include "fs/transactions/lock_order.h"

namespace dedupfs {

class DirectoryMoves {
 public:
  explicit DirectoryMoves(Ancestry::ReadParent read_parent) : ancestry_(std::move(read_parent)) {}

  // Hold it to move a directory to another parent, or to keep others from that.
  class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] Lock {
   public:
    explicit Lock(DirectoryMoves& moves) DEDUPFS_ACQUIRE(moves.mutex_) : moves_(moves) { moves_.mutex_.lock(); }
    ~Lock() DEDUPFS_RELEASE() { moves_.mutex_.unlock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    Ancestry& ancestry() { return moves_.ancestry_; }

   private:
    DirectoryMoves& moves_;
  };

 private:
  Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::renames) DEDUPFS_ACQUIRED_BEFORE(lock_order::quiescing);
  Ancestry ancestry_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
