// Makes and deletes snapshots of the whole volume.
//
// Threads:   every function from any thread. A mutex lets only one thread at a time make, delete or restore a snapshot. It is
//            taken before all other locks (docs/namespace.md).
// Ownership: all constructor arguments must outlive it.
// Failure:   a snapshot that could not be made durable is deleted again.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/snapshots/snapshot_holds.h"
#include "fs/snapshots/snapshot_types.h"
#include "fs/snapshots/snapshots_directory.h"
#include "fs/transactions/lock_order.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "store/volume/volume.h"

namespace dedupfs {

class Snapshots {
 public:
  Snapshots(Volume& volume, const InodeNumbers& numbers, Transactions& transactions, SpaceGuard& space,
            SnapshotHolds& holds, SnapshotsDirectory& directory)
      : volume_(volume),
        numbers_(numbers),
        transactions_(transactions),
        space_(space),
        holds_(holds),
        directory_(directory) {}

  // kInvalidArgument for a name that cannot be one.
  static Result<void> check_name(std::string_view name);
  // The snapshot has everything that happened before the call. It is durable when this returns. A date is that of what it is a copy of.
  // What the judge refuses is gone when this returns, with its error; also after a power cut meanwhile.
  Result<void> create(std::string_view name, std::optional<std::int64_t> created_unix_seconds = {},
                      const JudgeSnapshot& judge = nullptr);
  // The deletion is durable when this returns. The space comes back in the background. kNotPermitted if it is held.
  Result<void> remove(std::string_view name);
  // kNotFound if there is none.
  Result<SnapshotRecord> find(std::string_view name) const;
  std::vector<SnapshotRecord> all() const { return volume_.snapshots().all(); }  // the first made first

  // As SnapshotHolds. They are durable when these return.
  Result<void> hold(std::string_view name, std::optional<std::int64_t> until_unix_seconds);
  Result<void> release(std::string_view name);

  // In its scope, no other thread makes, deletes or restores a snapshot.
  class DEDUPFS_SCOPED_CAPABILITY [[nodiscard]] Turn {
   public:
    explicit Turn(Snapshots& snapshots) DEDUPFS_ACQUIRE(snapshots.mutex_) : lock_(snapshots.mutex_) {}
    ~Turn() DEDUPFS_RELEASE() = default;
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    const MutexLock lock_;
  };

 private:
  enum class Visibility { kAll, kNobody };
  Result<SnapshotRecord> make(std::string_view name, std::optional<std::int64_t> created_unix_seconds,
                              Visibility visibility);
  Result<void> check_free(std::string_view name) const;
  Result<void> publish(const SnapshotRecord& record);
  Result<void> put_new(SnapshotRecord& record, Visibility visibility);
  void put(const SnapshotRecord& record);  // in a Change
  void mark_deleted(SnapshotRecord record);

  Volume& volume_;
  const InodeNumbers& numbers_;
  Transactions& transactions_;
  SpaceGuard& space_;
  SnapshotHolds& holds_;
  SnapshotsDirectory& directory_;
  Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::requests) DEDUPFS_ACQUIRED_BEFORE(lock_order::renames);
};

}  // namespace dedupfs
