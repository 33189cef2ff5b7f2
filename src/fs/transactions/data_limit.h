// A limit on data beside that of the disk: on what is stored, and must go elsewhere before there is room for more, such as to a bucket. Who
// keeps the limit knows how much fits, and makes room. Whoever wants to write more waits for that.
//
// A wait ends when there is room, or when its request is given up. As long as the keeper is making room and nothing fails, it goes on. Otherwise
// it ends with kNoSpace after Keeper::longest_wait. That time runs for all writers together: who comes later than that is refused at once,
// until there is room again.
//
// Threads: every function from any thread. May wait for a commit: call it without locks and outside of the gate.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/transactions/lock_order.h"

namespace dedupfs {

class DataLimit {
 public:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::uint64_t room_bytes = 0;
    bool is_making_room = false;  // and nothing has failed
  };
  struct Keeper {
    std::function<Seen()> look;  // is called once a second while somebody writes, more often while there is no room
    std::function<void()> want_room;  // is called again and again while somebody waits
    std::function<void(bool)>
        when_waiting;               // true: a writer begins to wait; false: one has stopped, however that ended
    std::function<Error()> refuse;  // is called for each writer that gets no room: kNoSpace, with what to do about it
    std::chrono::milliseconds longest_wait = std::chrono::seconds(60);
    std::size_t most_waiting = 32;  // writers; more of them are refused at once
  };
  // `pending_bytes`, `settle`: as SpaceGuard has them.
  DataLimit(Keeper keeper, std::function<std::uint64_t()> pending_bytes, std::function<void()> settle)
      : keeper_(std::move(keeper)), pending_bytes_(std::move(pending_bytes)), settle_(std::move(settle)) {}

  // kNoSpace: see above. kInterrupted when `cancelled` becomes true; it is called every 50 ms.
  Result<void> admit(std::uint64_t bytes, const std::function<bool()>& cancelled);
  std::size_t waiting();  // writers

 private:
  bool fits_what_is_known(std::uint64_t bytes);
  bool fits_now(std::uint64_t bytes, std::chrono::milliseconds trust);
  bool fits(std::uint64_t bytes, std::uint64_t pending_bytes) DEDUPFS_REQUIRES(mutex_);
  Result<void> await_room(std::uint64_t bytes, const std::function<bool()>& cancelled);
  bool is_hopeless();
  bool begin_waiting();
  void end_waiting();

  const Keeper keeper_;
  const std::function<std::uint64_t()> pending_bytes_;
  const std::function<void()> settle_;

  Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  Seen known_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t known_pending_ DEDUPFS_GUARDED_BY(mutex_) = 0;  // when it was seen
  std::uint64_t added_since_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  Clock::time_point looked_at_ DEDUPFS_GUARDED_BY(mutex_){};
  std::optional<Clock::time_point> hopeless_since_ DEDUPFS_GUARDED_BY(mutex_);
  std::size_t waiting_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
