// Gives inodes of the live tree the attributes that a stream has: extended ones, and then all others.
//
// Threads:   one user at a time.
// Ownership: the filesystem must outlive it.
// Failure:   kCorruption for attributes that no sender sends; kTooLarge for too many; errors of the filesystem.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/records.h"

namespace dedupfs::transfer {

class AttributesReceiver {
 public:
  explicit AttributesReceiver(Filesystem& filesystem) : filesystem_(filesystem) {}

  // `inode`: in the live tree. One inode after the other.
  Result<void> apply(InodeNumber inode, const Xattr& xattr);
  // It has no others than those that were applied since the last call.
  Result<void> remove_other_xattrs(InodeNumber inode);
  Result<void> apply(InodeNumber inode, const FinishedInode& finished);

 private:
  Filesystem& filesystem_;
  std::set<std::string> xattrs_;  // of the inode that is finished next
  std::size_t xattr_bytes_ = 0;   // of these names
};

}  // namespace dedupfs::transfer
