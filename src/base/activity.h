// When something was last used, so that background work can wait until nobody uses it.
//
// Threads: every function from any thread.
#pragma once

#include <atomic>
#include <chrono>

namespace dedupfs {

class Activity {
 public:
  using Clock = std::chrono::steady_clock;

  void note() { last_.store(Clock::now(), std::memory_order_relaxed); }
  bool is_idle_for(Clock::duration duration) const {
    return Clock::now() - last_.load(std::memory_order_relaxed) >= duration;
  }

 private:
  std::atomic<Clock::time_point> last_{Clock::now()};
};

}  // namespace dedupfs
