// The log of damage that readers and writers of files come upon, with the path of the file as far as it is known.
//
// Threads:   every function from any thread. Takes mutexes of inodes, one at a time: call it without one.
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

  // Logs the error if it tells of damage, once for each message of an inode: readers come back. Returns it.
  Error note(Inode& inode, Error error) DEDUPFS_EXCLUDES(inode.mutex);
  // The path of names that led to the inode once.
  std::string path_of(Inode& inode) DEDUPFS_EXCLUDES(inode.mutex);

 private:
  InodeTable& table_;
  const SnapshotList& snapshots_;
};

}  // namespace dedupfs
