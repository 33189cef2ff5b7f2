// Counts of the work that goes on in a running daemon, for those who watch it: how often, how much, how long, how well a cache does.
//
// Threads: every function from any thread. Each number is a relaxed atomic one: numbers of one reading may differ by what happens
//          meanwhile.
// Failure: none.
// Cost:    a few atomic additions. A clock is read by the caller, once for a batch of work.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dedupfs {

using MeterClock = std::chrono::steady_clock;

// A reading, and what it is of. The name is a constant.
template <class Reading>
struct Named {
  std::string_view name;
  Reading reading{};
};

inline double seconds_of(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

// One kind of work that is done batch by batch. Threads that work side by side add up their times.
class alignas(64) WorkMeter {
 public:
  struct Reading {
    std::uint64_t batches = 0;
    std::uint64_t bytes = 0;
    double seconds = 0;
  };

  void add(std::uint64_t bytes, MeterClock::duration duration) noexcept {
    batches_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    nanoseconds_.fetch_add(static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count()),
                           std::memory_order_relaxed);
  }
  Reading read() const {
    return {batches_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed),
            seconds_of(nanoseconds_.load(std::memory_order_relaxed))};
  }

 private:
  std::atomic<std::uint64_t> batches_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::uint64_t> nanoseconds_ = 0;
};

// Look-ups in a cache.
class alignas(64) CacheMeter {
 public:
  struct Reading {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
  };

  void note(bool is_hit) noexcept { (is_hit ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed); }
  Reading read() const { return {hits_.load(std::memory_order_relaxed), misses_.load(std::memory_order_relaxed)}; }

 private:
  std::atomic<std::uint64_t> hits_ = 0;
  std::atomic<std::uint64_t> misses_ = 0;
};

// Requests of one kind, with a histogram of their times.
class alignas(64) RequestMeter {
 public:
  // The upper ends of all buckets but the last, which has no end: two for each power of ten.
  static constexpr std::array<double, 13> kBoundsSeconds = {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2,
                                                            3e-2, 0.1,  0.3,  1.0,  3.0,  10.0};
  static constexpr std::size_t kBuckets = kBoundsSeconds.size() + 1;

  struct Reading {
    std::uint64_t count = 0;
    std::uint64_t errors = 0;
    std::uint64_t bytes = 0;
    double seconds = 0;
    std::array<std::uint64_t, kBuckets> buckets{};  // requests of each; all together are `count`
  };

  void add(MeterClock::duration duration, std::uint64_t bytes, bool is_error) noexcept {
    const auto nanoseconds = static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
    const auto bucket = std::ranges::lower_bound(kBoundsSeconds, seconds_of(nanoseconds)) - kBoundsSeconds.begin();
    buckets_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(nanoseconds, std::memory_order_relaxed);
    if (bytes != 0) bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (is_error) errors_.fetch_add(1, std::memory_order_relaxed);
  }
  Reading read() const {
    Reading reading{.errors = errors_.load(std::memory_order_relaxed),
                    .bytes = bytes_.load(std::memory_order_relaxed),
                    .seconds = seconds_of(nanoseconds_.load(std::memory_order_relaxed))};
    for (std::size_t i = 0; i < kBuckets; ++i)
      reading.count += reading.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    return reading;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
  std::atomic<std::uint64_t> nanoseconds_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::uint64_t> errors_ = 0;
};

// All that the parts of a daemon count. Each layer adds its own to that of the layers below.
struct MeterReadings {
  std::vector<Named<RequestMeter::Reading>> requests;
  std::vector<Named<WorkMeter::Reading>> stages;  // of ingest
  std::vector<Named<WorkMeter::Reading>> waits;   // of writers for room
  std::vector<Named<CacheMeter::Reading>> caches;
  std::vector<Named<std::uint64_t>> queues;  // what waits now: bytes, or things
};

}  // namespace dedupfs
