// Writes the record of an inode in memory, keeps its part in the sums of its quota, and finds the parent of a directory.
//
// Threads: as the functions say.
#pragma once

#include <cstdint>
#include <utility>

#include "base/result.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

// If its content is in memory, size and data_bytes come from there.
Attributes attributes_of(const Inode& inode) DEDUPFS_REQUIRES(inode.mutex);
// Puts the inode's record into the open group. May throw std::bad_alloc; then it has put nothing.
void put_record(Metadata& metadata, Inode& inode) DEDUPFS_REQUIRES(inode.mutex);

// The account that counts the inode; null: none.
QuotaAccount* account_of(Inode& inode) DEDUPFS_REQUIRES(inode.mutex);
// The account of the directories that may have a name for the inode. It differs for the top of a tree with a quota only.
QuotaAccount* account_of_name(Inode& inode) DEDUPFS_REQUIRES(inode.mutex);
// Charges what the content has now, after a change of it.
void settle_charge(Inode& inode) DEDUPFS_REQUIRES(inode.mutex);
// The inode is deleted: its quota counts it no longer.
void leave_quota(Inode& inode) DEDUPFS_REQUIRES(inode.mutex);

// A new inode in the quota of its directory. It is taken out again, unless take() gives it to the inode.
class [[nodiscard]] NewFileInQuota {
 public:
  // kQuotaExceeded if the tree may have no more files.
  static Result<NewFileInQuota> in(Inode& directory)DEDUPFS_REQUIRES(directory.mutex);
  NewFileInQuota(NewFileInQuota&& other) noexcept : share_(std::exchange(other.share_, {})) {}
  ~NewFileInQuota();
  NewFileInQuota& operator=(NewFileInQuota&&) = delete;

  // For an inode that begins with content. kQuotaExceeded if the bytes do not fit.
  Result<void> add_content(std::uint64_t bytes);
  const QuotaShare& share() const { return share_; }
  QuotaShare take() { return std::exchange(share_, {}); }

 private:
  NewFileInQuota() = default;

  QuotaShare share_;
};

// Takes the directory's lock. The parent of a snapshot's root is the directory of the snapshots.
InodeNumber parent_of(Inode& directory) DEDUPFS_EXCLUDES(directory.mutex);
// The parent in the record of a directory. It does not use the table: a walk through many directories would evict the inodes
// that others use.
Result<InodeNumber> read_parent(const Metadata& metadata, InodeNumber directory);

}  // namespace dedupfs
