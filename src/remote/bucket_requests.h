// Counts what a store of objects is asked for, since stores charge for requests. Each try counts.
//
// Threads: every function from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dedupfs {

enum class BucketRequest : std::uint8_t { kPut, kList, kGet, kHead, kDelete };
inline constexpr std::size_t kBucketRequests = 5;

struct BucketRequests {
  std::array<std::uint64_t, kBucketRequests> of{};  // by BucketRequest

  std::uint64_t operator[](BucketRequest kind) const { return of.at(static_cast<std::size_t>(kind)); }
  BucketRequests& operator+=(const BucketRequests& other) {
    for (std::size_t i = 0; i < kBucketRequests; ++i) of.at(i) += other.of.at(i);
    return *this;
  }
  bool operator==(const BucketRequests&) const = default;
};

class BucketRequestMeter {
 public:
  void note(BucketRequest kind) { of_.at(static_cast<std::size_t>(kind)).fetch_add(1, std::memory_order_relaxed); }
  BucketRequests counts() const {
    BucketRequests counts;
    for (std::size_t i = 0; i < kBucketRequests; ++i) counts.of.at(i) = of_.at(i).load(std::memory_order_relaxed);
    return counts;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBucketRequests> of_{};
};

}  // namespace dedupfs
