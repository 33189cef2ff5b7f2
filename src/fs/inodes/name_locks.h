// The locks on the names in directories. A lookup of a name holds the lock of its directory shared. An operation that adds or
// removes names holds it exclusively. Directories share a fixed number of locks.
//
// Threads: to lock several directories use one object, which takes the locks in a fixed order. Never hold two objects.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/mutex.h"
#include "fs/format/types.h"
#include "fs/transactions/lock_order.h"

namespace dedupfs {

class NameLocks {
 public:
  // The analysis cannot know which of the locks are held. It takes them for one lock.
  class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] Shared {
   public:
    Shared(NameLocks& locks, InodeNumber directory) DEDUPFS_ACQUIRE_SHARED(locks.all_)
        : mutex_(locks.mutexes_[shard_of(directory)]) {
      mutex_.lock_shared();
    }
    ~Shared() DEDUPFS_RELEASE_GENERIC() { mutex_.unlock_shared(); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

   private:
    SharedMutex& mutex_;
  };

  class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] Exclusive {
   public:
    Exclusive(NameLocks& locks, InodeNumber directory) DEDUPFS_ACQUIRE(locks.all_)
        : Exclusive(locks, directory, directory) {}
    Exclusive(NameLocks& locks, InodeNumber one, InodeNumber other) DEDUPFS_ACQUIRE(locks.all_)
        : first_(locks.mutexes_[std::min(shard_of(one), shard_of(other))]),
          second_(locks.mutexes_[std::max(shard_of(one), shard_of(other))]) {
      first_.lock();
      if (&second_ != &first_) second_.lock();
    }
    ~Exclusive() DEDUPFS_RELEASE() {
      if (&second_ != &first_) second_.unlock();
      first_.unlock();
    }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

   private:
    SharedMutex& first_;
    SharedMutex& second_;  // the same if both directories have one lock
  };

 private:
  static constexpr std::size_t kShards = 128;
  static std::size_t shard_of(InodeNumber directory) { return directory % kShards; }

  std::array<SharedMutex, kShards> mutexes_;
  // Stands for all of the locks in the analysis. It does nothing at run time.
  [[no_unique_address]] lock_order::Level all_ DEDUPFS_ACQUIRED_AFTER(lock_order::names)
      DEDUPFS_ACQUIRED_BEFORE(lock_order::inodes);
};

}  // namespace dedupfs
