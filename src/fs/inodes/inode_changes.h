// The changes of inodes that the metadata do not have yet: content of files in memory, the counters of inode numbers, and
// the sums of quotas.
// Stores content in the background, and stores all content at the end of a transaction group.
//
// Threads:   every function from any thread, except as GroupSource says. A thread that stores takes the mutex of one inode at a
//            time. It never waits for the gate, because the thread that closes the gate waits for it.
// Ownership: owns the pool of threads that store. All constructor arguments must outlive it.
// Failure:   content that cannot be stored stays dirty, and storing is tried again. The error stays in the inode until a caller
//            gets it (Inode::write_error).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/shortcuts.h"
#include "base/thread_pool.h"
#include "fs/content/dirty_budget.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/quota_ledger.h"
#include "fs/transactions/group_source.h"
#include "fs/transactions/lock_order.h"
#include "fs/transactions/writability.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class InodeChanges final : public GroupSource {
 public:
  InodeChanges(Metadata& metadata, InodeTable& table, InodeNumbers& numbers, QuotaLedger& quotas, DirtyBudget& budget,
               const Writability& writability, Shortcuts shortcuts = {});
  ~InodeChanges() override = default;

  // Stores the content soon: that of a small file together with others, or at the end of the group. Does nothing if a group is
  // about to end.
  void store_in_background(const InodePtr& inode);
  // Whether the last attempt to store all content failed. If so, it is no use to wait for room.
  bool storing_fails() const { return storing_fails_; }

  bool has_changes() const override { return table_.has_dirty(); }
  std::uint64_t waiting_bytes() const override { return budget_.used_bytes(); }
  void store() override;
  std::optional<Error> store_error() const override;
  // No analysis: the token holds the lock when this returns.
  Stopped stop_storing() override DEDUPFS_NO_THREAD_SAFETY_ANALYSIS {
    storing_mutex_.lock();
    return Stopped(&storing_mutex_);
  }
  void put_records() override;
  void put_counters(bool is_last) override {
    numbers_.save(is_last);
    quotas_.save();
  }

 private:
  Result<void> store_content(Inode& inode);
  void store_soon(const std::vector<InodePtr>& inodes);
  void settle(const InodePtr& inode);

  Metadata& metadata_;
  InodeTable& table_;
  InodeNumbers& numbers_;
  QuotaLedger& quotas_;
  DirtyBudget& budget_;
  const Writability& writability_;
  const std::size_t small_files_at_once_;
  // Shared for a thread that stores in the background, exclusive for the end of a group.
  SharedMutex storing_mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::quiescing) DEDUPFS_ACQUIRED_BEFORE(lock_order::names);
  std::atomic<bool> storing_fails_{false};
  Mutex small_mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  std::vector<InodePtr> small_ DEDUPFS_GUARDED_BY(small_mutex_);  // small files that wait for others, in order
  mutable Mutex error_mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  std::optional<Error> error_ DEDUPFS_GUARDED_BY(error_mutex_);
  ThreadPool threads_;  // last, so that they end before the objects that they use
};

}  // namespace dedupfs
