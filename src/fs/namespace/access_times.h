// Updates the access times of inodes after reads.
//
// Threads:   from any thread; call it without locks, because it is a Change.
// Ownership: all constructor arguments must outlive it.
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

  // Notes a read of the inode. False: nothing changed, by the policy, or since the inode cannot be changed.
  bool note(const InodePtr& inode);

 private:
  Metadata& metadata_;
  Transactions& transactions_;
  const FilesystemOptions::Atime policy_;
};

}  // namespace dedupfs
