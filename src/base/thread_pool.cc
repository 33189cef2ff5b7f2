#include "base/thread_pool.h"

#include <pthread.h>

#include <system_error>

#include "base/guarded.h"
#include "base/low_priority.h"

namespace dedupfs {

ThreadPool::ThreadPool(std::size_t threads, const std::string& name, Priority priority) {
  threads_.reserve(threads);
  try {
    for (std::size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, priority] {
        if (priority == Priority::kLow) lower_priority_of_this_thread();
        run();
      });
      pthread_setname_np(threads_.back().native_handle(), name.substr(0, 15).c_str());
    }
  } catch (...) {
    end();
    throw;
  }
}

std::unique_ptr<ThreadPool> ThreadPool::make_if_possible(std::size_t threads, const std::string& name) {
  try {
    return std::make_unique<ThreadPool>(threads, name);
  } catch (const std::system_error&) {
    return nullptr;
  }
}

ThreadPool::~ThreadPool() {
  end();
}

void ThreadPool::end() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wakeup_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::submit(Task task) {
  {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wakeup_.notify_one();
}

std::size_t ThreadPool::waiting() const {
  const MutexLock lock(mutex_);
  return tasks_.size();
}

void ThreadPool::run() {
  const MutexLock lock(mutex_);
  for (;;) {
    wakeup_.wait(mutex_, [this]() DEDUPFS_REQUIRES(mutex_) { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    const MutexUnlock unlocked(mutex_);
    survive("a task in the background", task);
    task = nullptr;  // the captures of the task are destroyed before the lock is taken
  }
}

}  // namespace dedupfs
