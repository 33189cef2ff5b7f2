// The entries of directories: each stands in the metadata twice, by its name and by its cookie (docs/namespace.md).
//
// Threads:   what reads needs the name lock of the directory; what changes entries needs it exclusively, and the directory (and
//            `target`, or `inode`) locked. The record of a directory is changed in memory; the caller puts it.
// Ownership: everything that it is given must outlive it.
// Failure:   kCorruption for entries and records that cannot be true. What adds and removes may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "fs/format/records.h"
#include "fs/format/types.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/orphan_reaper.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class DirectoryEntries {
 public:
  DirectoryEntries(Metadata& metadata, InodeTable& table, OrphanReaper& reaper)
      : metadata_(metadata), table_(table), reaper_(reaper) {}

  static Result<void> check_new_name(std::string_view name);

  Result<std::optional<Dirent>> find(InodeNumber parent, std::string_view name) const;
  // The inode that an entry leads to: it must be there.
  Result<InodePtr> target_of(InodeNumber parent, std::string_view name, const Dirent& entry) const;
  Result<bool> is_empty(InodeNumber directory) const;

  // That the directory was not removed, and that its next cookie is free.
  Result<void> check_takes_names(Inode& directory) const DEDUPFS_REQUIRES(directory.mutex);
  void add(Inode& directory, std::string_view name, const Inode& target)
      DEDUPFS_REQUIRES(directory.mutex, target.mutex);
  void add(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie)
      DEDUPFS_REQUIRES(directory.mutex, target.mutex);
  // In the place of another entry.
  void put(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie)
      DEDUPFS_REQUIRES(directory.mutex, target.mutex);
  void remove(Inode& directory, std::string_view name, const Dirent& entry) DEDUPFS_REQUIRES(directory.mutex);

  // A name of the inode is gone; the last one makes it an orphan. Puts its record.
  void drop_link(const InodePtr& inode, const Timestamp& now) DEDUPFS_REQUIRES(inode->mutex);

 private:
  Metadata& metadata_;
  InodeTable& table_;
  OrphanReaper& reaper_;
};

}  // namespace dedupfs
