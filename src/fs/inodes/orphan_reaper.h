// Deletes the inodes that have neither a name nor a holder: content, attributes, record. It works in small steps, so that a
// huge file delays nobody. An orphan is listed in Family::kOrphans until it is gone, so the next mount finds unfinished work.
//
// Threads:   every function from any thread, but step() only on the committer's. So it never runs beside the end of a group.
// Ownership: all constructor arguments must outlive it.
// Failure:   an inode that cannot be deleted is logged and left to the next mount.
#pragma once

#include <cstdint>
#include <deque>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/quota_ledger.h"
#include "fs/transactions/lock_order.h"
#include "fs/transactions/transactions.h"
#include "store/metadata/metadata.h"
#include "store/volume/volume.h"

namespace dedupfs {

class OrphanReaper {
 public:
  OrphanReaper(Metadata& metadata, ChunkStore& chunks, InodeTable& table, InodeNumbers& numbers, QuotaLedger& quotas,
               Transactions& transactions)
      : metadata_(metadata),
        chunks_(chunks),
        table_(table),
        numbers_(numbers),
        quotas_(quotas),
        transactions_(transactions) {}

  // Finds the orphans that an earlier mount left.
  Result<void> load();
  // Notes an inode with neither a name nor a holder: nobody will read it again. It is deleted soon.
  void note_unlinked(InodeNumber orphan);
  // True if there is more to do.
  bool step();
  // The number of orphans noted so far, and whether the first `count` of them are gone. They are deleted in the order in which
  // they were noted.
  std::uint64_t pushed() const;
  bool are_gone(std::uint64_t count) const;

 private:
  void push(InodeNumber orphan);
  Result<bool> delete_some(InodeNumber orphan);  // true: it is gone
  Result<bool> erase_xattrs(InodeNumber orphan);

  Metadata& metadata_;
  ChunkStore& chunks_;
  InodeTable& table_;
  InodeNumbers& numbers_;
  QuotaLedger& quotas_;
  Transactions& transactions_;
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  std::deque<InodeNumber> orphans_ DEDUPFS_GUARDED_BY(mutex_);
  std::uint64_t pushed_ DEDUPFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace dedupfs
