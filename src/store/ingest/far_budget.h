// What new chunks may fetch from far away (ChunkReader::is_near()), to become deltas of what is only there: so many bytes an hour. Each
// fetch makes a writer wait.
//
// Threads: every function from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/mutex.h"

namespace dedupfs {

class FarBudget {
 public:
  using Clock = std::chrono::steady_clock;

  // What a source costs: a store is asked for blocks of this length at least.
  static constexpr std::uint64_t kSourceBytes = 1 << 20;

  // 0: nothing is fetched. A day without use saves up no more than an hour.
  explicit FarBudget(std::uint64_t bytes_an_hour) : bytes_an_hour_(bytes_an_hour) {}

  // Whether a source may be fetched now. If so, it is paid for.
  bool take(Clock::time_point now = Clock::now()) {
    if (bytes_an_hour_ < kSourceBytes) return false;
    const MutexLock lock(mutex_);
    if (!hour_begin_ || now - *hour_begin_ >= std::chrono::hours(1)) {
      hour_begin_ = now;
      left_ = bytes_an_hour_;
    }
    if (left_ < kSourceBytes) return false;
    left_ -= kSourceBytes;
    return true;
  }

  // A fetch has failed: a store that does not answer costs each writer a minute. So nothing is fetched for the rest of the hour.
  void give_up() {
    const MutexLock lock(mutex_);
    left_ = 0;
  }

 private:
  const std::uint64_t bytes_an_hour_;
  Mutex mutex_;
  std::optional<Clock::time_point> hour_begin_ DEDUPFS_GUARDED_BY(mutex_);  // none: nothing was asked for yet
  std::uint64_t left_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
