// The directory `.snapshots`, with the snapshots as entries. No record holds it: each mount makes it again. Its attributes
// follow the snapshots and the owner of the root.
//
// Threads:   every function from any thread, after add().
// Ownership: keeps the inode of the directory in memory. All constructor arguments must outlive it.
// Failure:   kNotFound for names that no snapshot has, kStale for inodes that are hidden.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "fs/format/directory_entry.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/references.h"
#include "fs/snapshots/snapshot_types.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {

class SnapshotsDirectory {
 public:
  SnapshotsDirectory(const SnapshotList& snapshots, InodeTable& table, References& references, SnapshotAccess access)
      : snapshots_(snapshots), table_(table), references_(references), access_(access) {}

  // Makes the directory. Call it once, before all other functions, when there is a root.
  void add();
  // Call it after a snapshot was made or deleted, or the root got another owner.
  void update();

  bool is_hidden() const { return access_ == SnapshotAccess::kHidden; }
  // kStale for inodes of snapshots and of this directory, if they are hidden.
  Result<void> check_visible(InodeNumber number) const;

  // Counts a reference to the root of the snapshot.
  Result<Attributes> lookup(std::string_view name);
  // As Filesystem::read_directory(), behind "..".
  Result<void> read(std::uint64_t cookie, bool counted, const std::function<bool(const DirectoryEntry&)>& visit);

 private:
  const SnapshotList& snapshots_;
  InodeTable& table_;
  References& references_;
  const SnapshotAccess access_;
  InodePtr directory_;
};

}  // namespace dedupfs
