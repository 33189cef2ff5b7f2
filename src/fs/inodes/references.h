// The references that the kernel holds to inodes. Every answer with an inode's number counts one, until the kernel drops it. An
// unlinked inode is deleted when nobody holds it any more.
//
// Threads:   every function from any thread. If a name leads to the inode, hold the name lock of its directory until the
//            reference is counted.
// Ownership: table and reaper must outlive it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "fs/format/directory_entry.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/orphan_reaper.h"

namespace dedupfs {

class References {
 public:
  References(InodeTable& table, OrphanReaper& reaper) : table_(table), reaper_(reaper) {}

  // Counts a reference by number alone, as for an NFS handle. kStale if the inode was deleted.
  Result<Attributes> add(InodeNumber number);
  // Counts a reference to an inode that was found by this name.
  Attributes add(Inode& inode, InodeNumber parent, std::string_view name) DEDUPFS_EXCLUDES(inode.mutex);
  // The same for an entry that a readdir returns. The entry of a damaged inode stays as it is, so that it does not hide its
  // neighbours. A lookup of it returns the error.
  void add(DirectoryEntry& entry, InodeNumber parent, InodeNumber number);

  void drop(InodeNumber number, std::uint64_t count);

 private:
  InodeTable& table_;
  OrphanReaper& reaper_;
};

}  // namespace dedupfs
