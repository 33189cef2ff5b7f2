// The mutex of renames: under it no directory changes its parent, so that what a walk up the tree finds stays true.
//
// Threads: every function from any thread. Take the lock before the quiesce gate and all name locks.
#pragma once

#include <mutex>
#include <utility>

#include "fs/inodes/ancestry.h"

namespace dedupfs {

class DirectoryMoves {
 public:
  explicit DirectoryMoves(Ancestry::ReadParent read_parent) : ancestry_(std::move(read_parent)) {}

  // Whoever moves directories, or must know that nobody does.
  class Lock {
   public:
    explicit Lock(DirectoryMoves& moves) : moves_(moves), lock_(moves.mutex_) {}
    Ancestry& ancestry() { return moves_.ancestry_; }

   private:
    DirectoryMoves& moves_;
    std::unique_lock<std::mutex> lock_;
  };

 private:
  std::mutex mutex_;
  Ancestry ancestry_;  // guarded by it
};

}  // namespace dedupfs
