// Makes new inodes: number, owner, times, inherited access lists.
//
// Threads:   with the directory locked. Nobody has the number of the new inode yet, and no name leads to it.
// Ownership: everything that it is given must outlive it.
// Failure:   nothing was made; the number is lost.
#pragma once

#include "base/result.h"
#include "fs/format/records.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/inodes/inode_table.h"
#include "fs/namespace/xattrs.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class InodeMaker {
 public:
  InodeMaker(Metadata& metadata, InodeTable& table, InodeNumbers& numbers, Xattrs& xattrs)
      : metadata_(metadata), table_(table), numbers_(numbers), xattrs_(xattrs) {}

  // `record` comes with type, mode and what is special to the type.
  Result<InodePtr> make(Inode& directory, InodeRecord record, const Caller& caller, const Timestamp& now)
      DEDUPFS_REQUIRES(directory.mutex);
  // A new volume has no root yet: the store knows nothing of directories. Mounted read-only it is empty all the same.
  Result<void> ensure_root();

 private:
  Metadata& metadata_;
  InodeTable& table_;
  InodeNumbers& numbers_;
  Xattrs& xattrs_;
};

}  // namespace dedupfs
