// Holds keep snapshots from being deleted: until somebody releases them, or until a date, before which nobody can release them. A
// date is reached when the clock of the day says so and the volume's own time (volume_time.h) has run on as long as the date was
// away when the snapshot was held. See docs/snapshots.md, "Holds".
//
// Threads:   every function from any thread.
// Ownership: all constructor arguments must outlive it.
// Failure:   if the records of the holds do not parse, everything is held (kCorruption).
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/format/hold_records.h"
#include "fs/snapshots/volume_time.h"
#include "fs/transactions/transactions.h"
#include "store/metadata/snapshot_list.h"
#include "store/volume/volume.h"

namespace dedupfs {

// A hold as it is now.
struct HoldStatus {
  bool until_released = false;
  std::optional<std::int64_t> until_unix_seconds;
  std::uint64_t seconds_left = 0;  // at least, until the date counts as reached; of a mount that goes on

  bool operator==(const HoldStatus&) const = default;
};

class SnapshotHolds {
 public:
  // No hold lasts longer, so that sums with it cannot overflow: 8,000 years.
  static constexpr std::int64_t kLastUnixSeconds = std::int64_t{1} << 38;

  SnapshotHolds(Volume& volume, Transactions& transactions, HoldClocks clocks);

  std::map<TreeNumber, HoldStatus> all() const;
  // kNotPermitted, with the reason, if something holds it.
  Result<void> check_deletable(const SnapshotRecord& snapshot) const;

  // These change the open group. kNotPermitted for a date that is earlier than that of the present hold, kInvalidArgument for one
  // that has passed.
  Result<void> hold(const SnapshotRecord& snapshot, std::optional<std::int64_t> until_unix_seconds);
  Result<void> release(const SnapshotRecord& snapshot);  // kNotPermitted: before the date
  void forget(TreeNumber snapshot);                      // it is deleted

  // Keeps the volume's time in the open group, if anything is held until a date. Call it before the volume is closed, and now and
  // then: a crash loses the time since the last call.
  void note_time();
  void note_time_now_and_then();

 private:
  std::int64_t unix_seconds() const;
  HoldStatus status_of(const SnapshotHold& hold) const DEDUPFS_REQUIRES(mutex_);
  std::optional<HoldStatus> find(TreeNumber snapshot) const DEDUPFS_REQUIRES(mutex_);
  void note_time_after(std::uint64_t seconds);
  void put() DEDUPFS_REQUIRES(mutex_);
  void put_time() DEDUPFS_REQUIRES(mutex_);

  Volume& volume_;
  Transactions& transactions_;
  const HoldClocks clocks_;
  mutable Mutex mutex_;
  std::optional<Error> damage_ DEDUPFS_GUARDED_BY(mutex_);
  std::map<TreeNumber, SnapshotHold> holds_ DEDUPFS_GUARDED_BY(mutex_);
  std::optional<VolumeTime> time_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t noted_ DEDUPFS_GUARDED_BY(mutex_) = 0;  // the volume's time that was kept last
};

}  // namespace dedupfs
