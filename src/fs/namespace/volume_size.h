// The space that the volume takes on the disk below, for frequent callers (df). A measurement looks at every file of the
// volume. So it takes place only now and then: in at most a fiftieth of the time, and at most once a second.
//
// Threads: every function from any thread; while one thread measures, others wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/mutex.h"

namespace dedupfs {

class VolumeSize {
 public:
  using Clock = std::chrono::steady_clock;
  explicit VolumeSize(
      std::function<std::uint64_t()> measure, std::function<Clock::time_point()> now = [] { return Clock::now(); })
      : measure_(std::move(measure)), now_(std::move(now)) {}

  std::uint64_t bytes();

 private:
  const std::function<std::uint64_t()> measure_;
  const std::function<Clock::time_point()> now_;
  Mutex mutex_;
  std::uint64_t known_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  Clock::time_point known_until_ DEDUPFS_GUARDED_BY(mutex_){};
};

}  // namespace dedupfs
