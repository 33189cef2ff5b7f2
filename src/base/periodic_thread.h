// A thread that does the same again and again, with a pause before each time, until it is stopped.
//
// Threads:   stop() and is_stopping() from any thread; stop() not from the work itself.
// Ownership: the destructor stops it. It is the last member of its owner, so that it ends before what the work uses.
// Failure:   an exception of the work is reported (base/guarded.h), and the next time comes.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace dedupfs {

class PeriodicThread {
 public:
  using Duration = std::chrono::steady_clock::duration;
  struct Settings {
    const char* name = "";   // of the thread, at most 15 characters
    const char* doing = "";  // for reports of failures: "taking a checkpoint"
    Duration first{};        // the pause before the first time
    Duration interval{};     // the pause before each other time
    int times_longer = 0;    // and at least so many times what the work took
    bool is_low_priority = false;
  };

  PeriodicThread() = default;  // has no thread until start()
  ~PeriodicThread() { stop(); }
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

  // Once, at most.
  void start(const Settings& settings, std::function<void()> work);
  // Waits until the work, if it runs, has ended. Then it never runs again.
  void stop();
  // For work that takes long, so that it can end early.
  bool is_stopping() const { return stopping_; }

 private:
  void run(const Settings& settings, const std::function<void()>& work);

  Mutex mutex_;  // of the waiting; stopping_ changes with it
  ConditionVariable wakeup_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace dedupfs
