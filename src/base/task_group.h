// Tasks that belong together and run beside each other: whoever submits one waits while as many as allowed are under way. The first failure
// ends the work: what comes after it is not begun.
//
// Threads:   every function by one thread. A task runs on a thread of the group. With one at a time, or where the system gives no more
//            threads, it runs on the caller's.
// Ownership: the destructor waits for tasks that have begun.
// Failure:   of the first task that failed, from whichever call comes next. A task that throws failed, too (guarded.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_pool.h"

namespace dedupfs {

class TaskGroup {
 public:
  using Task = std::function<Result<void>()>;

  // `most_bytes`: of all tasks that are under way. One that is larger runs alone.
  TaskGroup(std::size_t most_tasks, std::uint64_t most_bytes, std::string name);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Waits until one more task may hold so much memory. For whoever takes the memory before the task begins.
  Result<void> await_room(std::uint64_t bytes);
  // The same, and begins it.
  Result<void> submit(std::uint64_t bytes, Task task);
  // Returns when all have ended.
  Result<void> finish();

 private:
  void run(std::uint64_t bytes, const Task& task);
  void wait_for_room(std::uint64_t bytes) DEDUPFS_REQUIRES(mutex_);
  Result<void> check() const DEDUPFS_REQUIRES(mutex_);

  const std::size_t most_tasks_;
  const std::uint64_t most_bytes_;
  const std::string name_;
  mutable Mutex mutex_;
  ConditionVariable ended_;
  std::size_t tasks_ DEDUPFS_GUARDED_BY(mutex_) = 0;  // that are under way
  std::uint64_t bytes_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  std::optional<Error> failure_ DEDUPFS_GUARDED_BY(mutex_);
  std::unique_ptr<ThreadPool> pool_;  // from the first task on; goes first
};

}  // namespace dedupfs
