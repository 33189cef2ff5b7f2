// Where a receiver keeps inodes that have no name for a moment: a folder within the one that it receives into.
//
// Threads:   one user at a time.
// Ownership: the filesystem must outlive it.
// Failure:   errors of the filesystem.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/stream_header.h"

namespace dedupfs::transfer {

using NamedEntries = std::vector<std::pair<std::string, bool>>;  // names, and whether they are directories
Result<void> remove_entries(Filesystem& filesystem, InodeNumber directory, const NamedEntries& entries);

class WorkFolder {
 public:
  // That of a stream, if it is there from an interrupted one; and a new one.
  static Result<std::optional<WorkFolder>> find(Filesystem& filesystem, InodeNumber folder, const SnapshotIdentity& of);
  static Result<WorkFolder> make(Filesystem& filesystem, InodeNumber folder, const SnapshotIdentity& of);

  InodeNumber inode() const { return inode_; }
  ChangedName name() const { return {folder_, name_}; }
  // What is in it has no name any more, but the file of changes stays.
  Result<void> empty();
  Result<void> remove();

 private:
  WorkFolder(Filesystem& filesystem, InodeNumber folder, std::string name)
      : filesystem_(&filesystem), folder_(folder), name_(std::move(name)) {}

  Filesystem* filesystem_;
  InodeNumber folder_;
  std::string name_;
  InodeNumber inode_ = 0;
};

}  // namespace dedupfs::transfer
