#include "base/periodic_thread.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/low_priority.h"

namespace dedupfs {

void PeriodicThread::start(const Settings& settings, std::function<void()> work) {
  thread_ = std::thread([this, settings, work = std::move(work)] { run(settings, work); });
}

void PeriodicThread::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wakeup_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PeriodicThread::run(const Settings& settings, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  ::pthread_setname_np(::pthread_self(), settings.name);
  if (settings.is_low_priority) lower_priority_of_this_thread();
  const MutexLock lock(mutex_);
  Duration pause = settings.first;
  while (!wakeup_.wait_for(mutex_, pause, [this] { return stopping_.load(); })) {
    const MutexUnlock unlocked(mutex_);
    const auto begin = Clock::now();
    survive(settings.doing, work);
    pause = std::max(settings.interval, (Clock::now() - begin) * settings.times_longer);
  }
}

}  // namespace dedupfs
