// A fixed number of threads that run tasks in the order in which they were submitted.
//
// Threads:   submit() from anywhere, also from inside a task.
// Ownership: the destructor runs every task that was submitted, then joins.
// Failure:   an exception of a task is reported (guarded.h), and ends only that task. submit() may throw std::bad_alloc; then
//            the task does not run.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace dedupfs {

class ThreadPool {
 public:
  using Task = std::function<void()>;
  enum class Priority { kNormal, kLow };  // of the threads: see low_priority.h

  // `name` shows in ps and perf (at most 15 characters).
  ThreadPool(std::size_t threads, const std::string& name, Priority priority = Priority::kNormal);
  // Null where the system gives no more threads, instead of an exception.
  static std::unique_ptr<ThreadPool> make_if_possible(std::size_t threads, const std::string& name);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void submit(Task task);
  std::size_t size() const { return threads_.size(); }
  std::size_t waiting() const;  // tasks that no thread has begun

 private:
  void run();
  void end();

  mutable Mutex mutex_;
  ConditionVariable wakeup_;
  std::deque<Task> tasks_ DEDUPFS_GUARDED_BY(mutex_);
  bool stopping_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace dedupfs
