// Objects that are shared by those who use them, and kept for a while when nobody does: the last ones, up to a cap. Users
// remember them by weak pointers, so that what many users remember together stays below the cap, too.
//
// Threads: every function from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace dedupfs {

class KeptAlive {
 public:
  explicit KeptAlive(std::uint64_t cap_bytes) : cap_bytes_(cap_bytes) {}

  // `bytes`: the memory of the object.
  void keep(std::shared_ptr<const void> object, std::uint64_t bytes) {
    std::vector<Kept> dropped;  // destroyed after the lock
    const MutexLock lock(mutex_);
    kept_.push_back({std::move(object), bytes});
    bytes_ += bytes;
    while (bytes_ > cap_bytes_ && kept_.size() > 1) {
      dropped.push_back(std::move(kept_.front()));
      bytes_ -= dropped.back().bytes;
      kept_.pop_front();
    }
  }

 private:
  struct Kept {
    std::shared_ptr<const void> object;
    std::uint64_t bytes = 0;
  };

  const std::uint64_t cap_bytes_;
  Mutex mutex_;
  std::deque<Kept> kept_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
