// Hands out inode numbers and counts the inodes.
//
// A number is never used twice, not even when the group in which it was given away is lost in a crash: the durable
// counter is ahead of the numbers in use by a reserve that no group can exhaust, and a start after a crash goes on
// behind the reserve.
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
  // From the counters in the metadata; a volume without them has no inodes yet. A counter that is not behind all numbers
  // in use is raised, with a line in the log: no file may take the place of another. kCorruption if there are no numbers
  // left behind them. Numbers may be given away once the first save() has been committed.
  static Result<std::unique_ptr<InodeNumbers>> load(Metadata& metadata);

  InodeNumber allocate();
  void count_deleted();
  void set_in_use(std::uint64_t count);  // after all of them changed
  std::uint64_t in_use() const;
  InodeNumber end() const;  // no inode has this number or a higher one

  // Puts the counters into the open group, if they changed. With `exact` the reserve is given back: the last save.
  void save(bool exact);

 private:
  InodeNumbers(Metadata& metadata, InodeNumber next, std::uint64_t in_use);

  Metadata& metadata_;
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  // Of 2^43 numbers 2^32 are left when it is loaded: no mount uses them up.
  InodeNumber next_ DEDUPFS_GUARDED_BY(mutex_);
  InodeNumber limit_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t in_use_ DEDUPFS_GUARDED_BY(mutex_);
  InodeNumber saved_limit_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t saved_in_use_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
