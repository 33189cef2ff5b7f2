// Makes new inodes: number, owner, times, inherited access lists.
//
// Threads:   with the directory locked. Nobody has the number of the new inode yet, and no name leads to it.
// Ownership: all constructor arguments must outlive it.
// Failure:   after an error no inode was made; the number is lost.
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

  // Whether a name leads to the new inode. A directory has one.
  enum class Named { kYes, kNo };

  // `record` has the type, the mode and the fields of the type.
  Result<InodePtr> make(Inode& directory, InodeRecord record, const Caller& caller, const Timestamp& now,
                        Named named = Named::kYes) DEDUPFS_REQUIRES(directory.mutex);
  // Makes the root if there is none. A new volume has none, because the store knows nothing of directories. On a read-only
  // mount such a volume has an empty root in memory.
  Result<void> ensure_root();

 private:
  Metadata& metadata_;
  InodeTable& table_;
  InodeNumbers& numbers_;
  Xattrs& xattrs_;
};

}  // namespace dedupfs
