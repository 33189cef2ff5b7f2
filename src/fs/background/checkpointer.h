// Takes checkpoints in the background: at most one an interval, and only where something was committed since the last; so
// seldom, too, that it takes no more than a fiftieth of the time. And one at the end of the mount.
//
// Threads:   every function from any thread.
// Ownership: the volume must outlive it.
// Failure:   in the background it is logged, and tried again after the interval.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "store/metadata/checkpoint.h"
#include "store/volume/volume.h"

namespace dedupfs {

class Checkpointer {
 public:
  // Takes none if the interval is 0, nor while there is no room for so many bytes.
  using HasRoom = std::function<bool(std::uint64_t bytes)>;
  Checkpointer(Volume& volume, std::chrono::milliseconds interval, HasRoom has_room);
  ~Checkpointer();

  // Something was committed that the newest checkpoint does not have.
  void note_commit() { changed_ = true; }
  // Whether an earlier mount has left the volume without a checkpoint of its last state: it was killed, or had to leave it
  // unfinished, or took none ever.
  bool is_behind() const;
  // Takes one, if something was committed since the last, whenever that was. None if there is to be none, ever.
  void take_now();
  // Ends the thread. Then, if something was committed since the last checkpoint, takes another, however long that takes. An
  // Error: there is none of the last state, and why. `goes_on` may end it (kInterrupted).
  Result<void> finish(const Checkpoints::GoesOn& goes_on);

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void stop();
  Result<void> take(const Checkpoints::GoesOn& goes_on);
  void take_in_background(const Checkpoints::GoesOn& goes_on);

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
