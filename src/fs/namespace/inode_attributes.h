// Attributes: the values that stat shows and that chmod, chown, utimes and truncate change.
//
// Threads:   every function from any thread, without locks.
// Ownership: all constructor arguments must outlive it.
// Failure:   errors as in POSIX.
#pragma once

#include "base/result.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "fs/namespace/file_contents.h"
#include "fs/namespace/xattrs.h"
#include "fs/snapshots/snapshots_directory.h"
#include "fs/transactions/transactions.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class InodeAttributes {
 public:
  InodeAttributes(Metadata& metadata, InodeTable& table, Transactions& transactions, FileContents& contents,
                  Xattrs& xattrs, SnapshotsDirectory& snapshots_directory)
      : metadata_(metadata),
        table_(table),
        transactions_(transactions),
        contents_(contents),
        xattrs_(xattrs),
        snapshots_directory_(snapshots_directory) {}

  Result<Attributes> get(InodeNumber number);
  Result<Attributes> change(InodeNumber number, const AttributeChanges& changes, const Caller& caller);

 private:
  Metadata& metadata_;
  InodeTable& table_;
  Transactions& transactions_;
  FileContents& contents_;
  Xattrs& xattrs_;
  SnapshotsDirectory& snapshots_directory_;
};

}  // namespace dedupfs
