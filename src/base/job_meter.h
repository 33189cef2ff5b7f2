// How far long work is: whoever does it notes it, and others look meanwhile.
//
// Threads: every function from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace dedupfs {

class JobMeter {
 public:
  // From now on there is so much to do, as far as is known; 0: it is not known.
  void begin(std::uint64_t total) {
    begun_ = Clock::now();
    done_ = 0;
    total_ = total;
  }
  void add(std::uint64_t done) { done_.fetch_add(done, std::memory_order_relaxed); }
  // Both, by work that counts itself. It may find out the total later.
  void set(std::uint64_t done, std::uint64_t total) {
    done_ = done;
    total_ = total;
  }

  std::uint64_t done() const { return done_; }
  std::uint64_t total() const { return total_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_.load()).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> total_{0};
  std::atomic<Clock::time_point> begun_{Clock::now()};
};

}  // namespace dedupfs
