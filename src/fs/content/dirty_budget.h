// The one cap for the memory that holds file data not yet stored. Writers take their share before they write, and wait while
// there is none. The share comes back when the bytes have been stored or dropped. The budget counts the allocated memory, not
// the bytes in it.
//
// Threads: every function from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/meter.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/transactions/lock_order.h"

namespace dedupfs {

class DirtyBudget {
 public:
  // `on_pressure` is a request to flush early. Every acquire() that leaves more than half taken calls it (outside of locks),
  // and an acquire() that waits calls it again and again.
  DirtyBudget(std::uint64_t cap_bytes, std::function<void()> on_pressure);

  // Waits until `bytes` fit. A single request of more than the cap gets its share when nobody else has one. kInterrupted when
  // `cancelled` becomes true; it is called every 50 ms. Never call acquire() with a lock held or inside the quiesce gate.
  Result<void> acquire(std::uint64_t bytes, const std::function<bool()>& cancelled);
  // For internal work that must not wait, such as the flush itself. It may exceed the cap.
  void force(std::uint64_t bytes) noexcept;
  void release(std::uint64_t bytes) noexcept;
  std::uint64_t used_bytes() const;
  WorkMeter::Reading waits() const { return waits_.read(); }  // of acquire()
  bool is_exceeded() const { return used_bytes() > cap_bytes_; }

  // A share that goes back at the end of its scope. Must not outlive the budget.
  class Share {
   public:
    Share() = default;
    static Share forced(DirtyBudget& budget, std::uint64_t bytes) noexcept {
      budget.force(bytes);
      return {budget, bytes};
    }
    static Share acquired(DirtyBudget& budget, std::uint64_t bytes) noexcept { return {budget, bytes}; }  // already
    Share(Share&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (bytes_ != 0) budget_->release(bytes_);
    }

   private:
    Share(DirtyBudget& budget, std::uint64_t bytes) noexcept : budget_(&budget), bytes_(bytes) {}

    DirtyBudget* budget_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

 private:
  bool fits(std::uint64_t bytes) const DEDUPFS_REQUIRES(mutex_);
  Result<void> await_room(std::uint64_t bytes, const std::function<bool()>& cancelled) DEDUPFS_REQUIRES(mutex_);

  const std::uint64_t cap_bytes_;
  const std::function<void()> on_pressure_;
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  ConditionVariable released_;
  std::uint64_t used_bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  WorkMeter waits_;
};

}  // namespace dedupfs
