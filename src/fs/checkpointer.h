// Takes checkpoints in the background: at most one an interval, and only where something was committed since the last; so
// seldom, too, that it takes no more than a fiftieth of the time.
//
// Threads:   every function from any thread.
// Ownership: the volume must outlive it.
// Failure:   logged; a checkpoint that failed is tried again after the interval.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "store/checkpoint.h"
#include "store/volume.h"

namespace dedupfs {

class Checkpointer {
 public:
  // Takes none if the interval is 0, nor while there is no room for so many bytes.
  using HasRoom = std::function<bool(std::uint64_t bytes)>;
  Checkpointer(Volume& volume, std::chrono::milliseconds interval, HasRoom has_room);
  ~Checkpointer();

  // Something was committed.
  void note_commit() { changed_ = true; }
  // Takes one, if something was committed since the last, whenever that was. None if there is to be none, ever.
  void take_now();
  // Ends the thread. Then, if something was committed since the last checkpoint, takes another: unless that would take
  // longer than a user who unmounts would like to wait.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void stop();
  // Ends early when `stopping_`, or, with a deadline, at that.
  void take(Clock::time_point deadline);

  const std::chrono::milliseconds interval_;
  const HasRoom has_room_;
  Volume& volume_;
  const Checkpoints checkpoints_;
  std::atomic<bool> changed_ = false;
  std::atomic<bool> stopping_ = false;
  std::mutex taking_;  // one at a time
  std::mutex mutex_;   // of the waiting
  std::condition_variable wakeup_;
  std::thread thread_;
};

}  // namespace dedupfs
