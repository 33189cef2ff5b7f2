// The limit of a long job in bytes a second. What was done before the limit was set does not count, so a pause earns nothing.
//
// Threads: one user at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace dedupfs {

class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  std::uint64_t bytes_per_second() const { return bytes_per_second_; }  // 0: none

  // From now on. `done`: what the job has done.
  void set(std::uint64_t bytes_per_second, std::uint64_t done, Clock::time_point now = Clock::now()) {
    bytes_per_second_ = bytes_per_second;
    begin_again(done, now);
  }
  // The same limit, after a pause or for another job.
  void begin_again(std::uint64_t done, Clock::time_point now = Clock::now()) {
    since_ = now;
    done_before_ = done;
  }

  // Until when a job that has done so much waits before it asks again. Nothing: it may go on.
  std::optional<Clock::time_point> wait_until(std::uint64_t done, Clock::time_point now = Clock::now()) const {
    if (bytes_per_second_ == 0) return std::nullopt;
    const std::chrono::duration<double> due(static_cast<double>(done - std::min(done, done_before_)) /
                                            static_cast<double>(bytes_per_second_));
    if (due - (now - since_) > kLongest) return now + kLongest;
    const Clock::time_point until = since_ + std::chrono::ceil<Clock::duration>(due);
    return now < until ? std::optional(until) : std::nullopt;
  }

 private:
  static constexpr std::chrono::hours kLongest{1};  // more than a clock can hold may be left

  std::uint64_t bytes_per_second_ = 0;
  Clock::time_point since_;
  std::uint64_t done_before_ = 0;
};

}  // namespace dedupfs
