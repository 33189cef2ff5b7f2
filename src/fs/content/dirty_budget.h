// The one cap for the memory that holds file data not yet stored. Writers take their share before they write and wait
// while there is none; the share comes back when the bytes have been stored, or dropped. What counts is the memory that
// is taken, not the bytes that are in it.
//
// Threads: every function from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/transactions/lock_order.h"

namespace dedupfs {

class DirtyBudget {
 public:
  // `on_pressure` is called (outside of locks) by every acquire() that leaves more than half taken, and again and again
  // by those that wait: time to flush early.
  DirtyBudget(std::uint64_t cap_bytes, std::function<void()> on_pressure);

  // Waits until `bytes` fit (a single request of more than the cap is let in alone). kInterrupted when `cancelled`
  // becomes true, asked every 50 ms. Never call it with a lock held or inside the quiesce gate.
  Result<void> acquire(std::uint64_t bytes, const std::function<bool()>& cancelled);
  // For internal work that must not wait (the flush itself): takes over the cap.
  void force(std::uint64_t bytes) noexcept;
  void release(std::uint64_t bytes) noexcept;
  std::uint64_t used_bytes() const;
  bool is_exceeded() const { return used_bytes() > cap_bytes_; }

  // A share that comes back with the end of its scope. Must not outlive the budget.
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

  const std::uint64_t cap_bytes_;
  const std::function<void()> on_pressure_;
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  ConditionVariable released_;
  std::uint64_t used_bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
