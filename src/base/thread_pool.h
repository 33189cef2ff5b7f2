// A fixed number of threads that run tasks in the order in which they were submitted.
//
// Threads:   submit() from anywhere, also from inside a task.
// Ownership: the destructor runs every task that was submitted, then joins.
// Failure:   an exception of a task is reported (guarded.h), and ends only that task. submit() may throw std::bad_alloc; then
//            the task does not run.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dedupfs {

class ThreadPool {
 public:
  using Task = std::function<void()>;

  // `name` shows in ps and perf (at most 15 characters).
  ThreadPool(std::size_t threads, const std::string& name);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void submit(Task task);
  std::size_t size() const { return threads_.size(); }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wakeup_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dedupfs
