// The objects that a Filesystem consists of. Each knows only objects above it; its constructor lists them. It calls lower ones
// through functions and GroupSource. Private to filesystem.cc.
//
// Order of locks. A thread that holds one takes only those further down (docs/namespace.md has the reasons):
//   0. the mutex of Snapshots
//   1. DirectoryMoves: held to move a directory to another parent, so that no other one moves meanwhile
//   2. the quiesce gate (Transactions::Change), the commit's stop_storing() of InodeChanges
//   3. name locks of directories (NameLocks)
//   4. inodes' mutexes, by number (InodeLocks)
//   5. leaves: shards of the table, its dirty set, the metadata, a file's content, counters
// A thread waits for a commit or for the dirty budget before it takes 2. The entries of a directory change only while its name
// lock is held exclusively AND its inode is locked.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/activity.h"
#include "base/result.h"
#include "fs/background/background_work.h"
#include "fs/background/running_jobs.h"
#include "fs/content/dirty_budget.h"
#include "fs/history/history_keeper.h"
#include "fs/inodes/damage_log.h"
#include "fs/inodes/directory_moves.h"
#include "fs/inodes/inode_changes.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/name_locks.h"
#include "fs/inodes/orphan_reaper.h"
#include "fs/inodes/quota_guard.h"
#include "fs/inodes/quota_ledger.h"
#include "fs/inodes/references.h"
#include "fs/namespace/access_times.h"
#include "fs/namespace/clones.h"
#include "fs/namespace/directories.h"
#include "fs/namespace/directory_entries.h"
#include "fs/namespace/file_contents.h"
#include "fs/namespace/files.h"
#include "fs/namespace/filesystem_types.h"
#include "fs/namespace/inode_attributes.h"
#include "fs/namespace/inode_maker.h"
#include "fs/namespace/namespace.h"
#include "fs/namespace/rename.h"
#include "fs/namespace/volume_size.h"
#include "fs/namespace/xattrs.h"
#include "fs/quotas/quotas.h"
#include "fs/snapshots/clean_up.h"
#include "fs/snapshots/rollback.h"
#include "fs/snapshots/snapshot_holds.h"
#include "fs/snapshots/snapshots.h"
#include "fs/snapshots/snapshots_directory.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "fs/transactions/writability.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct FilesystemParts {
  FilesystemParts(std::unique_ptr<Volume> its_volume, std::unique_ptr<InodeNumbers> its_numbers,
                  const FilesystemOptions& options, Shortcuts shortcuts);

  Result<void> start();
  // Ends the background work, but for checkpoints.
  void stop();

  const std::unique_ptr<Volume> volume;
  VolumeSize volume_size;

  // Inodes, and their changes that wait in memory
  Writability writability;
  DirtyBudget budget;
  QuotaLedger quota_ledger;
  InodeTable table;
  const std::unique_ptr<InodeNumbers> numbers;
  InodeChanges changes;

  // The checks and the gate for a change
  Transactions transactions;
  SpaceGuard space;

  // The holders of inodes, the room in trees with a quota, and the locks on names
  OrphanReaper orphans;
  QuotaGuard quota_guard;
  References references;
  DamageLog damage_log;
  NameLocks names;
  DirectoryMoves moves;
  Quotas quotas;

  SnapshotsDirectory snapshots_directory;
  CleanUp clean_up;
  SnapshotHolds holds;
  Snapshots snapshots;
  Rollback rollback;

  // The operations
  AccessTimes access_times;
  Xattrs xattrs;
  DirectoryEntries entries;
  InodeMaker maker;
  Namespace name_space;
  Directories directories;
  Renames renames;
  FileContents contents;
  Files files;
  InodeAttributes inode_attributes;
  Clones clones;

  Activity activity;
  RunningJobs running_jobs;
  // Last, so that their threads end before the objects that they use.
  BackgroundWork background;
  const std::optional<HistorySettings> history_settings;
  std::optional<HistoryKeeper> history;  // after start(), if there are settings and the volume is writable
  std::atomic<bool> closed{false};
  std::optional<Error> missing_checkpoint;
};

}  // namespace dedupfs
