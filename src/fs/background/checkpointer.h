// Writes checkpoints in the background: at most one per interval, only after a commit, and in at most a fiftieth of the time. It also
// writes one at the end of the mount.
//
// Threads:   every function from any thread.
// Ownership: the volume must outlive it.
// Failure:   in the background it is logged, and tried again after the interval.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "store/metadata/checkpoint.h"
#include "store/volume/volume.h"

namespace dedupfs {

class Checkpointer {
 public:
  // Writes none if the interval is 0, or while there is no room for so many bytes.
  using HasRoom = std::function<bool(std::uint64_t bytes)>;
  Checkpointer(Volume& volume, std::chrono::milliseconds interval, HasRoom has_room);

  // Tells that the newest checkpoint lacks a commit.
  void note_commit() { changed_ = true; }
  // Whether the last state of an earlier mount has no checkpoint: the mount was killed, or could not finish one, or wrote none.
  bool is_behind() const;
  // Writes one if the last one lacks a commit. Writes none if checkpoints are off.
  void take_now();
  // Ends the thread. Then writes another checkpoint if the last one lacks a commit, however long that takes. An Error says why the
  // last state has none. `goes_on` may end it (kInterrupted).
  Result<void> finish(const Checkpoints::GoesOn& goes_on);

 private:
  Result<void> take(const Checkpoints::GoesOn& goes_on) DEDUPFS_EXCLUDES(taking_);
  void take_in_background(const Checkpoints::GoesOn& goes_on);

  const std::chrono::milliseconds interval_;
  const HasRoom has_room_;
  Volume& volume_;
  const Checkpoints checkpoints_;
  std::atomic<bool> changed_ = false;
  Mutex taking_;  // one at a time
  PeriodicThread thread_;
};

}  // namespace dedupfs
