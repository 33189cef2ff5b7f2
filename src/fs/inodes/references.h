// The references that the kernel holds to inodes: whoever is handed an inode's number gets one, until it is dropped. An unlinked
// inode is deleted when nobody holds it any more.
//
// Threads:   every function from any thread. Where a name leads to the inode, its directory's name lock must be held until the
//            reference counts.
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

  // By number alone, as NFS handles are used. kStale if it was deleted.
  Result<Attributes> add(InodeNumber number);
  // Of what was found by this name.
  Attributes add(Inode& inode, InodeNumber parent, std::string_view name) DEDUPFS_EXCLUDES(inode.mutex);
  // The same for an entry that is read. The entry of a damaged inode stays as it is: it must not hide its neighbours, and
  // whoever looks it up gets the error.
  void add(DirectoryEntry& entry, InodeNumber parent, InodeNumber number);

  void drop(InodeNumber number, std::uint64_t count);

 private:
  InodeTable& table_;
  OrphanReaper& reaper_;
};

}  // namespace dedupfs
