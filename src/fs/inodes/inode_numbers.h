// Hands out inode numbers and counts the inodes.
//
// A number is never used twice, not even if a crash loses the group that used it. The durable counter is ahead of the numbers
// in use by a reserve, which no group can exhaust. A mount after a crash continues behind the reserve.
//
// Threads: every function from any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/format/types.h"
#include "fs/transactions/lock_order.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class InodeNumbers {
 public:
  // Reads the counters in the metadata; a volume without them has no inodes yet. If the counter is not behind all numbers in
  // use, raises and logs it: no file may take the place of another. kCorruption if no free numbers are left behind it. Call
  // allocate() only after the first save() has been committed.
  static Result<std::unique_ptr<InodeNumbers>> load(Metadata& metadata);

  InodeNumber allocate();
  void count_deleted();
  void set_in_use(std::uint64_t count);  // after a rollback of the tree
  std::uint64_t in_use() const;
  InodeNumber end() const;  // no inode has this number or a higher one

  // Puts the counters into the open group, if they changed. With `exact` it gives the reserve back: for the last save of a
  // mount.
  void save(bool exact);

 private:
  InodeNumbers(Metadata& metadata, InodeNumber next, std::uint64_t in_use);

  Metadata& metadata_;
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  // At load time at least 2^32 of the 2^43 numbers are left. No mount uses them up.
  InodeNumber next_ DEDUPFS_GUARDED_BY(mutex_);
  InodeNumber limit_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t in_use_ DEDUPFS_GUARDED_BY(mutex_);
  InodeNumber saved_limit_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t saved_in_use_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
