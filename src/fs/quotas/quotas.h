// Sets, changes and removes the quotas of trees. See docs/quotas.md.
//
// A quota belongs to a directory and to everything below it. Each inode's record names the quota that counts it. Setting a quota on a
// tree with content names it in all records of the tree, at the end of one transaction group: all or nothing. Writers wait meanwhile.
//
// Threads:   every function from any thread. A mutex lets only one at a time change quotas.
// Ownership: all constructor arguments must outlive it.
// Failure:   after an error, the quotas are as before. The exception: if only the commit of a change fails, and may be tried again
//            (kNoSpace, kNoMemory), the change holds, and the next commit that succeeds makes it durable. The message says so.
// Memory:    some 550 bytes for each inode of a tree that gets a quota, until the group is committed; 850 with snapshots.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/go_on.h"
#include "base/job_meter.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fs/format/quota_records.h"
#include "fs/format/records.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/quota_ledger.h"
#include "fs/transactions/lock_order.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "store/volume/volume.h"

namespace dedupfs {

// What a rollback changes in the sums of quotas.
class QuotaChanges {
 public:
  // A record of an inode goes from one value to another; nothing: it is not there.
  void note(InodeNumber inode, const std::optional<std::string>& from, const std::optional<std::string>& to);

 private:
  friend class Quotas;
  std::map<QuotaNumber, QuotaAccount::RecordedChange> changes_;
};

class Quotas {
 public:
  // `spare_memory`: the bytes of memory that a large tree may take when it gets a quota.
  Quotas(Volume& volume, InodeTable& table, QuotaLedger& ledger, Transactions& transactions, SpaceGuard& space,
         std::function<std::uint64_t()> spare_memory)
      : volume_(volume),
        table_(table),
        ledger_(ledger),
        transactions_(transactions),
        space_(space),
        spare_memory_(std::move(spare_memory)) {}

  // The limits of the tree below a directory, in place of those that it has. They are durable when this returns. Limits may be
  // lower than the use: then the tree cannot grow. kNotDirectory; kInvalidArgument without any limit, if the directory is in a tree with
  // a quota or has one below it, and if such a tree counts one of its files; kTooLarge if there are kMaxQuotas; kNoSpace and kNoMemory
  // if the records of the tree would not fit. An Error of `go_on` ends it while it counts a tree. Later, when it measures stored bytes,
  // the quota is set, and the first write that finds no room measures them. `meter` gets the names that were counted, and then the
  // records that were measured.
  Result<void> set(InodeNumber directory, const QuotaLimits& limits, const GoOn& go_on, JobMeter* meter = nullptr);
  // kNotFound if the directory has no quota.
  Result<void> remove(InodeNumber directory);
  std::vector<QuotaStatus> all() const;
  // The paths of the directories in the last commit, relative to the root, which is ".".
  Result<std::map<InodeNumber, std::string>> paths() const;
  // Of the tree that an inode is in, if it has a quota.
  std::optional<QuotaStatus> of_inode(InodeNumber inode);

  // Measures the stored bytes of a tree: a commit, and walks over the recipes and extents of the volume. Callers at the same time
  // wait for each other. If it cannot be measured, or `go_on` ends it, the old numbers stay. The log says why it could not. New
  // numbers go with the next group: a crash before it brings the old ones back, which are as good until somebody measures again.
  void measure(const QuotaAccountPtr& account, const GoOn& go_on, JobMeter* meter = nullptr);
  // The same for all trees with a limit of stored bytes, in the same walks. Fails only with the error of `go_on`.
  Result<void> measure_all(const GoOn& go_on);

  // After a rollback, at the end of the same group: counts what changed, and names quotas in trees that had none in the snapshot. A
  // quota whose directory is gone is removed.
  void restored(const QuotaChanges& changes);

 private:
  // How a walk is watched.
  struct Watch {
    const GoOn& go_on;
    JobMeter* meter = nullptr;
  };
  Result<QuotaAccountPtr> set_new(InodeNumber directory, const QuotaLimits& limits, const Watch& watch);
  using VisitName = std::function<Result<void>(InodeNumber directory, const CookieEntry& entry)>;
  Result<void> visit_names(InodeNumber top, const Watch& watch, const VisitName& visit) const;
  Result<void> check_can_have_quota(InodeNumber directory);
  Result<void> check_tree(InodeNumber top, const Watch& watch);
  Result<void> check_room_for_records(std::uint64_t count);
  Result<void> count_tree(InodeNumber top, const QuotaAccountPtr& account, const Watch& watch);
  Result<QuotaAccountPtr> count_inode(InodeNumber number, const QuotaAccountPtr& account);
  void measure_together(const std::vector<QuotaAccountPtr>& accounts, const Watch& watch)
      DEDUPFS_REQUIRES(measuring_mutex_);
  Result<bool> is_counted(InodeNumber directory, const QuotaAccount& account);

  Volume& volume_;
  InodeTable& table_;
  QuotaLedger& ledger_;
  Transactions& transactions_;
  SpaceGuard& space_;
  const std::function<std::uint64_t()> spare_memory_;
  Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::requests) DEDUPFS_ACQUIRED_BEFORE(lock_order::renames);
  Mutex measuring_mutex_ DEDUPFS_ACQUIRED_AFTER(mutex_) DEDUPFS_ACQUIRED_BEFORE(lock_order::renames);
};

}  // namespace dedupfs
