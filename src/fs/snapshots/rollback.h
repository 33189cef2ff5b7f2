// Rolls the live tree back to a snapshot: records that differ from it are changed, as by any operation, at the end of one
// group.
//
// Threads:   from any thread; nothing else may run meanwhile. It keeps out other operations on snapshots, and moves of
//            directories.
// Ownership: all constructor arguments must outlive it.
// Failure:   an error leaves the tree as it is, because all reads come before the first change.
// Memory:    some hundred bytes for each record that changes.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "fs/inodes/damage_log.h"
#include "fs/inodes/directory_moves.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/orphan_reaper.h"
#include "fs/quotas/quotas.h"
#include "fs/snapshots/clean_up.h"
#include "fs/snapshots/snapshot_types.h"
#include "fs/snapshots/snapshots.h"
#include "fs/snapshots/snapshots_directory.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "store/volume/volume.h"

namespace dedupfs {

class Rollback {
 public:
  Rollback(Volume& volume, InodeTable& table, InodeNumbers& numbers, Quotas& quotas, OrphanReaper& orphans,
           DirectoryMoves& moves, DamageLog& damage_log, Transactions& transactions, SpaceGuard& space,
           CleanUp& clean_up, Snapshots& snapshots, SnapshotsDirectory& directory)
      : volume_(volume),
        table_(table),
        numbers_(numbers),
        quotas_(quotas),
        orphans_(orphans),
        moves_(moves),
        damage_log_(damage_log),
        transactions_(transactions),
        space_(space),
        clean_up_(clean_up),
        snapshots_(snapshots),
        directory_(directory) {}

  // As Filesystem::roll_back().
  Result<std::vector<ChangedName>> to(std::string_view name);

 private:
  Result<void> restore(const SnapshotRecord& snapshot, std::vector<ChangedName>& changed);

  Volume& volume_;
  InodeTable& table_;
  InodeNumbers& numbers_;
  Quotas& quotas_;
  OrphanReaper& orphans_;
  DirectoryMoves& moves_;
  DamageLog& damage_log_;
  Transactions& transactions_;
  SpaceGuard& space_;
  CleanUp& clean_up_;
  Snapshots& snapshots_;
  SnapshotsDirectory& directory_;
};

}  // namespace dedupfs
