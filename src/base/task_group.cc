#include "base/task_group.h"

#include <utility>

#include "base/guarded.h"

namespace dedupfs {

TaskGroup::TaskGroup(std::size_t most_tasks, std::uint64_t most_bytes, std::string name)
    : most_tasks_(most_tasks), most_bytes_(most_bytes), name_(std::move(name)) {}

TaskGroup::~TaskGroup() = default;

Result<void> TaskGroup::check() const {
  return failure_ ? Result<void>(*failure_) : Result<void>();
}

void TaskGroup::wait_for_room(std::uint64_t bytes) {
  ended_.wait(mutex_, [&] {
    mutex_.assert_held();
    return tasks_ == 0 || (tasks_ < most_tasks_ && bytes_ + bytes <= most_bytes_);
  });
}

Result<void> TaskGroup::await_room(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  wait_for_room(bytes);
  return check();
}

Result<void> TaskGroup::submit(std::uint64_t bytes, Task task) {
  {
    const MutexLock lock(mutex_);
    wait_for_room(bytes);
    DEDUPFS_TRY(check());
    ++tasks_;
    bytes_ += bytes;
  }
  if (most_tasks_ > 1 && !pool_) pool_ = ThreadPool::make_if_possible(most_tasks_, name_);
  if (!pool_) {
    run(bytes, task);
    const MutexLock lock(mutex_);
    return check();
  }
  pool_->submit([this, bytes, submitted = std::move(task)]() mutable {
    const Task mine = std::move(submitted);
    run(bytes, mine);
  });
  return {};
}

void TaskGroup::run(std::uint64_t bytes, const Task& task) {
  const auto done = guarded(task);
  const MutexLock lock(mutex_);
  --tasks_;
  bytes_ -= bytes;
  if (!done && !failure_) failure_ = done.error();
  ended_.notify_all();
}

Result<void> TaskGroup::finish() {
  const MutexLock lock(mutex_);
  ended_.wait(mutex_, [&] {
    mutex_.assert_held();
    return tasks_ == 0;
  });
  return check();
}

}  // namespace dedupfs
