// Decides whether the disk below has room for the data that an operation is about to add, and whether it may take that room. So a full disk
// gives the writer ENOSPC, and never a commit that cannot finish.
//
// Threads: every function from any thread. May wait for a commit: call it without locks and outside of the gate.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/backing.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/transactions/data_limit.h"
#include "fs/transactions/lock_order.h"

namespace dedupfs {

class SpaceGuard {
 public:
  // `pending_bytes`: the data in memory that will need room on the disk, in the worst case. `settle` writes as much of them as
  // it can. Then the free space on the disk is a better answer. Its errors do not matter here.
  SpaceGuard(BackingFolder& folder, std::function<std::uint64_t()> pending_bytes, std::function<void()> settle);

  // A further limit on what is written. Call it before the first request.
  void limit_writes(DataLimit::Keeper keeper) { limit_.emplace(std::move(keeper), pending_bytes_, settle_); }
  std::size_t waiting_writers() { return limit_ ? limit_->waiting() : 0; }

  // kNoSpace if `bytes` of file data might not fit beside the reserve.
  Result<void> admit_data(std::uint64_t bytes);
  // The same for data that comes now. Waits for the further limit, as DataLimit says.
  Result<void> admit_write(std::uint64_t bytes, const std::function<bool()>& cancelled);
  // The same for names and attributes, which may use half of the reserve. Deletions do not call it.
  Result<void> admit_metadata();

  struct Room {
    std::uint64_t total_bytes = 0;
    std::uint64_t available_bytes = 0;  // for file data
  };
  Result<Room> room();
  // The room for changes that may use half of the reserve.
  Result<std::uint64_t> metadata_room();

 private:
  using Clock = std::chrono::steady_clock;

  // The free space and the pending data at one moment. Both must be from the same moment: pending data that are stored later
  // take room that `space` does not show yet.
  struct Seen {
    Backing::Space space;
    std::uint64_t pending_bytes = 0;

    std::uint64_t room_beside(std::uint64_t reserve) const;
    bool fits(std::uint64_t bytes, std::uint64_t reserve) const;
  };

  Result<void> admit(std::uint64_t bytes, std::uint64_t (*reserve)(const Backing::Space&));
  Result<Seen> look_now_and_then(std::uint64_t about_to_add);
  Result<Seen> look(std::uint64_t about_to_add);

  BackingFolder& folder_;
  const std::function<std::uint64_t()> pending_bytes_;
  const std::function<void()> settle_;
  std::optional<DataLimit> limit_;

  Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  Seen known_ DEDUPFS_GUARDED_BY(mutex_);
  Clock::time_point known_until_ DEDUPFS_GUARDED_BY(mutex_){};
  std::uint64_t added_since_ DEDUPFS_GUARDED_BY(mutex_) = 0;  // admitted, and not in known_
};

}  // namespace dedupfs
