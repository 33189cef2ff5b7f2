// Decides whether the tree of an inode has room for what an operation is about to add, and whether a name may go from one tree to
// another.
//
// A write is admitted before its Change, and reserves its room within it. So it fails with kQuotaExceeded, and not a later flush.
//
// Threads:   every function from any thread.
// Ownership: all constructor arguments must outlive it.
// Failure:   kQuotaExceeded, kCrossesTrees.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/go_on.h"
#include "base/result.h"
#include "fs/content/file_content.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/orphan_reaper.h"
#include "fs/inodes/quota_ledger.h"
#include "fs/transactions/transactions.h"

namespace dedupfs {

// Room that was charged for an operation. When it ends, the inode is charged with what its content has, and the rest goes back.
class [[nodiscard]] QuotaReservation {
 public:
  QuotaReservation() = default;
  QuotaReservation(InodePtr inode, QuotaAccountPtr account, std::uint64_t bytes)
      : inode_(std::move(inode)), account_(std::move(account)), bytes_(bytes) {}
  QuotaReservation(QuotaReservation&& other) noexcept = default;
  QuotaReservation& operator=(QuotaReservation&&) = delete;
  ~QuotaReservation();

 private:
  InodePtr inode_;
  QuotaAccountPtr account_;  // null: nothing was charged
  std::uint64_t bytes_ = 0;
};

class QuotaGuard {
 public:
  // Measures the stored bytes of a tree. It may take long, and commits. It ends when `go_on` says so.
  using Measure = std::function<void(const QuotaAccountPtr&, const GoOn& go_on)>;
  using Cancelled = std::function<bool()>;  // true: the caller does not wait any longer

  QuotaGuard(const QuotaLedger& quotas, const OrphanReaper& orphans, Transactions& transactions, Measure measure)
      : quotas_(quotas), orphans_(orphans), transactions_(transactions), measure_(std::move(measure)) {}

  // If there is too little room for a write into a range of a file, it waits for deleted files to give theirs back, and measures
  // stored bytes. reserve() decides. kInterrupted if it was cancelled before it knew. Call it outside of the gate, without locks.
  Result<void> admit(Inode& inode, std::uint64_t offset, std::uint64_t length, const Cancelled& cancelled)
      DEDUPFS_EXCLUDES(inode.mutex);
  // The same for one more file in a directory, which begins with so many bytes. NewFileInQuota decides.
  Result<void> admit_file(Inode& directory, std::uint64_t bytes = 0, const Cancelled& cancelled = nullptr)
      DEDUPFS_EXCLUDES(directory.mutex);

  // The room for new bytes in a range of a file. Near the limit, it stores the content first, to know what the range has.
  Result<QuotaReservation> reserve(const InodePtr& inode, FileContent& content, std::uint64_t offset,
                                   std::uint64_t length) {
    return reserve_for(inode, content, offset, length, nullptr, 0);
  }
  // The same for a copy of a range of `source`, with the holes in it.
  Result<QuotaReservation> reserve_copy(const InodePtr& inode, FileContent& content, std::uint64_t offset,
                                        std::uint64_t length, FileContent& source, std::uint64_t source_offset) {
    return reserve_for(inode, content, offset, length, &source, source_offset);
  }
  // kQuotaExceeded if so many more bytes would not fit. Nothing is charged.
  Result<void> check_room(Inode& inode, std::uint64_t bytes) const DEDUPFS_EXCLUDES(inode.mutex);

  // kCrossesTrees unless the quota of the directory counts whatever has a name in it.
  static Result<void> check_same_tree(Inode& directory, Inode& target) DEDUPFS_REQUIRES(directory.mutex, target.mutex);

 private:
  Result<QuotaReservation> reserve_for(const InodePtr& inode, FileContent& content, std::uint64_t offset,
                                       std::uint64_t length, FileContent* source, std::uint64_t source_offset);
  void await_room(const std::function<bool()>& has_room);
  Result<void> measure(const QuotaAccountPtr& account, const Cancelled& cancelled);
  QuotaAccountPtr account_of_inode(Inode& inode) const DEDUPFS_EXCLUDES(inode.mutex);

  const QuotaLedger& quotas_;
  const OrphanReaper& orphans_;
  Transactions& transactions_;
  const Measure measure_;
};

}  // namespace dedupfs
