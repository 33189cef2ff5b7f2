// Work for the end of a transaction group. At that moment no operation is half done, and all data are stored. The work is part
// of the group and sees exactly the group.
//
// Threads: want() from one thread at a time, is_wanted() from any thread, run() on the thread that ends groups.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace dedupfs {

class CommitHook {
 public:
  struct Task {
    std::function<Result<void>()> change;  // the last change of the group; an Error: nothing was changed
    std::function<void()> ended = [] {};   // right after, when the next group is open
  };

  void want(Task task) {
    const MutexLock lock(mutex_);
    task_ = std::move(task);
    wanted_ = true;
    result_.reset();
  }
  // Returns the result, or nothing if no group has ended since. It also withdraws the request.
  std::optional<Result<void>> take_result() {
    const MutexLock lock(mutex_);
    withdraw();
    return std::exchange(result_, std::nullopt);
  }
  // Does not wait for a run(), which may take long: callers hold locks that the work itself may need.
  bool is_wanted() const { return wanted_; }

  // Ends the group by `end`, with the requested work before and after it, if any.
  template <class End>
  void run(const End& end) {
    const MutexLock lock(mutex_);
    if (task_) result_ = task_->change();
    end();
    if (task_ && *result_) task_->ended();
    withdraw();
  }

 private:
  void withdraw() DEDUPFS_REQUIRES(mutex_) {
    task_.reset();
    wanted_ = false;
  }

  Mutex mutex_;
  std::atomic<bool> wanted_ = false;  // is there a task?
  std::optional<Task> task_ DEDUPFS_GUARDED_BY(mutex_);
  std::optional<Result<void>> result_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
