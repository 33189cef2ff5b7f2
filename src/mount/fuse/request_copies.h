// A cap for copies of request bytes. Requests are copied so that the thread that received them can go on.
//
// Threads: every function from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "fs/content/dirty_budget.h"

namespace dedupfs {

class RequestCopies {
 public:
  static constexpr std::uint64_t kMaxBytes = 16 << 20;
  // The number of libfuse's threads that may hold copies. The others serve readers, which holders of copies may wait for.
  static constexpr unsigned kMaxWaiting = 16;

  // Waits until a copy of this size fits. kNoMemory: too many wait already; kInterrupted: `cancelled`, asked every 50 ms, said
  // yes.
  Result<DirtyBudget::Share> acquire(std::uint64_t bytes, const std::function<bool()>& cancelled) {
    const Waiting waiting(waiting_);
    if (waiting.before >= kMaxWaiting && budget_.used_bytes() + bytes > kMaxBytes)
      return Error{ErrorCode::kNoMemory, "too many direct writes at once to files that are cached, too"};
    DEDUPFS_TRY(budget_.acquire(bytes, cancelled));
    return DirtyBudget::Share::acquired(budget_, bytes);
  }

 private:
  struct Waiting {
    explicit Waiting(std::atomic<unsigned>& count) : before(count.fetch_add(1)), all(count) {}
    ~Waiting() { --all; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    const unsigned before;
    std::atomic<unsigned>& all;
  };

  DirtyBudget budget_{kMaxBytes, [] {}};
  std::atomic<unsigned> waiting_ = 0;
};

}  // namespace dedupfs
