// The size that the volume has for frequent callers (df): what it takes on the disk below, and what is available there, at one moment. A
// measurement looks at every file of the volume. So it takes place only now and then: in at most a fiftieth of the time, and at most once
// a second.
//
// Threads: every function from any thread; while one thread measures, others wait.
// Failure: errors of the measurement, which the next caller repeats.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace dedupfs {

class VolumeSize {
 public:
  using Clock = std::chrono::steady_clock;
  explicit VolumeSize(
      std::function<Result<std::uint64_t>()> measure,
      std::function<Clock::time_point()> now = [] { return Clock::now(); })
      : measure_(std::move(measure)), now_(std::move(now)) {}

  Result<std::uint64_t> bytes();

 private:
  const std::function<Result<std::uint64_t>()> measure_;
  const std::function<Clock::time_point()> now_;
  Mutex mutex_;
  std::uint64_t known_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  Clock::time_point known_until_ DEDUPFS_GUARDED_BY(mutex_){};
};

}  // namespace dedupfs
