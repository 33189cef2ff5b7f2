// The changes of inodes that the metadata do not have yet: content of files that waits in memory, and the counters of inode
// numbers. Stores content in the background, and all of it for the end of a transaction group.
//
// Threads:   every function from any thread, but what GroupSource says. Storing takes the mutex of one inode at a time and
//            never waits for the gate: whoever closes the gate waits for it.
// Ownership: owns the pool of threads that store. Everything that it is given must outlive it.
// Failure:   what cannot be stored stays dirty and is tried again. The error stays in the inode until somebody is told
//            (Inode::write_error).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "fs/content/dirty_budget.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/inodes/inode_table.h"
#include "fs/transactions/group_source.h"
#include "fs/transactions/lock_order.h"
#include "fs/transactions/writability.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class InodeChanges final : public GroupSource {
 public:
  InodeChanges(Metadata& metadata, InodeTable& table, InodeNumbers& numbers, DirtyBudget& budget,
               const Writability& writability);
  ~InodeChanges() override = default;

  // Soon, if no group ends meanwhile.
  void store_in_background(const InodePtr& inode);
  // The last attempt to store all content failed: waiting for room would be in vain.
  bool storing_fails() const { return storing_fails_; }

  bool has_changes() const override { return table_.has_dirty(); }
  std::uint64_t waiting_bytes() const override { return budget_.used_bytes(); }
  void store() override;
  std::optional<Error> store_error() const override;
  // No analysis: the token has the lock when this returns.
  Stopped stop_storing() override DEDUPFS_NO_THREAD_SAFETY_ANALYSIS {
    storing_mutex_.lock();
    return Stopped(&storing_mutex_);
  }
  void put_records() override;
  void put_counters(bool is_last) override { numbers_.save(is_last); }

 private:
  Result<void> store_content(Inode& inode);
  void settle(const InodePtr& inode);

  Metadata& metadata_;
  InodeTable& table_;
  InodeNumbers& numbers_;
  DirtyBudget& budget_;
  const Writability& writability_;
  // Shared: who stores in the background; exclusive: the end of a group.
  SharedMutex storing_mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::quiescing) DEDUPFS_ACQUIRED_BEFORE(lock_order::names);
  std::atomic<bool> storing_fails_{false};
  mutable Mutex error_mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  std::optional<Error> error_ DEDUPFS_GUARDED_BY(error_mutex_);
  ThreadPool threads_;  // last, so that they end before what they use
};

}  // namespace dedupfs
