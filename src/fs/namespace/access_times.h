// When reading changes the access time of an inode.
//
// Threads:   from any thread; call it without locks, it is a Change.
// Ownership: everything that it is given must outlive it.
#pragma once

#include "fs/inodes/inode_table.h"
#include "fs/namespace/filesystem_types.h"
#include "fs/transactions/transactions.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class AccessTimes {
 public:
  AccessTimes(Metadata& metadata, Transactions& transactions, FilesystemOptions::Atime policy)
      : metadata_(metadata), transactions_(transactions), policy_(policy) {}

  // Somebody has read the inode. Nothing is done where nothing can be changed.
  void note(const InodePtr& inode);

 private:
  Metadata& metadata_;
  Transactions& transactions_;
  const FilesystemOptions::Atime policy_;
};

}  // namespace dedupfs
