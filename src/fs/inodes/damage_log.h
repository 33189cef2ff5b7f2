// Logs damage that readers and writers of files find, with the path of the file if it is known.
//
// Threads:   every function from any thread. Takes mutexes of inodes, one at a time: call it without any of them.
// Ownership: table and snapshots must outlive it.
#pragma once

#include <string>

#include "base/result.h"
#include "fs/inodes/inode_table.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {

class DamageLog {
 public:
  DamageLog(InodeTable& table, const SnapshotList& snapshots) : table_(table), snapshots_(snapshots) {}

  // Logs the error if it tells of damage, and returns it. Repeated reads log the same message of an inode only once.
  Error note(Inode& inode, Error error) DEDUPFS_EXCLUDES(inode.mutex);
  // A path of names that led to the inode earlier.
  std::string path_of(Inode& inode) DEDUPFS_EXCLUDES(inode.mutex);

 private:
  InodeTable& table_;
  const SnapshotList& snapshots_;
};

}  // namespace dedupfs
