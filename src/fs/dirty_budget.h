// The one cap for the memory that holds file data not yet stored. Writers take their share before they write and wait
// while there is none; the share comes back when the bytes have been stored, or dropped.
//
// Threads: every function from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/result.h"

namespace dedupfs {

class DirtyBudget {
 public:
  // `on_pressure` is called (outside of locks) by every acquire() that leaves more than half taken, and again and again
  // by those that wait: time to flush early.
  DirtyBudget(std::uint64_t cap_bytes, std::function<void()> on_pressure);

  // Waits until `bytes` fit (a single request of more than the cap is let in alone). kInterrupted when `cancelled`
  // becomes true, asked every 50 ms. Never call it with a lock held or inside the group gate.
  Result<void> acquire(std::uint64_t bytes, const std::function<bool()>& cancelled);
  // For internal work that must not wait (the flush itself): takes over the cap.
  void force(std::uint64_t bytes);
  void release(std::uint64_t bytes);
  std::uint64_t used_bytes() const;

 private:
  bool fits(std::uint64_t bytes) const;  // with mutex_ held

  const std::uint64_t cap_bytes_;
  const std::function<void()> on_pressure_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::uint64_t used_bytes_ = 0;
};

}  // namespace dedupfs
