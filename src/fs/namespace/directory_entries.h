// The entries of directories. The metadata have each one twice: by its name and by its cookie (docs/namespace.md).
//
// Threads:   functions that read need the name lock of the directory. Functions that change entries need it exclusively, and
//            need the directory (and `target` or `inode`) locked. They change the record of a directory in memory only; the
//            caller puts it.
// Ownership: all constructor arguments must outlive it.
// Failure:   kCorruption for impossible entries and records. Functions that add and remove may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "fs/format/records.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/orphan_reaper.h"
#include "fs/snapshots/snapshots_directory.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class DirectoryEntries {
 public:
  DirectoryEntries(Metadata& metadata, InodeTable& table, OrphanReaper& reaper, const SnapshotsDirectory& snapshots)
      : metadata_(metadata), table_(table), reaper_(reaper), snapshots_(snapshots) {}

  static Result<void> check_new_name(std::string_view name);
  // The name of the directory of snapshots, which is not among the entries. Where nobody sees snapshots it is a name like all others.
  bool is_taken_by_snapshots(InodeNumber parent, std::string_view name) const {
    return is_snapshots_entry(parent, name) && !snapshots_.is_hidden();
  }

  Result<std::optional<Dirent>> find(InodeNumber parent, std::string_view name) const;
  // The inode that an entry leads to. kCorruption if it does not exist.
  Result<InodePtr> target_of(InodeNumber parent, std::string_view name, const Dirent& entry) const;
  Result<bool> is_empty(InodeNumber directory) const;

  // Checks that the directory was not removed and that its next cookie is free.
  Result<void> check_takes_names(Inode& directory) const DEDUPFS_REQUIRES(directory.mutex);
  void add(Inode& directory, std::string_view name, const Inode& target)
      DEDUPFS_REQUIRES(directory.mutex, target.mutex);
  void add(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie)
      DEDUPFS_REQUIRES(directory.mutex, target.mutex);
  // Puts an entry in the place of another one.
  void put(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie)
      DEDUPFS_REQUIRES(directory.mutex, target.mutex);
  void remove(Inode& directory, std::string_view name, const Dirent& entry) DEDUPFS_REQUIRES(directory.mutex);

  // Lists the inode as an orphan: the next mount deletes it, unless note_named() comes before.
  void note_unnamed(InodeNumber inode) const;
  void note_named(InodeNumber inode) const;
  // Notes that a name of the inode is gone, and puts its record. Without its last name, the inode becomes an orphan.
  void drop_link(const InodePtr& inode, const Timestamp& now) DEDUPFS_REQUIRES(inode->mutex);

 private:
  Metadata& metadata_;
  InodeTable& table_;
  OrphanReaper& reaper_;
  const SnapshotsDirectory& snapshots_;
};

}  // namespace dedupfs
