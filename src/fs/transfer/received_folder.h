// The folder that a stream is received in: what it says of itself, the same folder in snapshots, and lookups in both.
//
// Threads:   one user at a time.
// Ownership: the filesystem must outlive it.
// Failure:   errors of the filesystem; kCorruption for paths and attributes that are malformed.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fs/namespace/filesystem.h"
#include "fs/transfer/stream_header.h"

namespace dedupfs::transfer {

// Of one entry; it counts no reference.
Result<Attributes> find_entry(Filesystem& filesystem, InodeNumber directory, std::string_view name);
// Of a path below a directory: names between single '/'. Empty or ".": the directory. Symbolic links are not followed.
Result<Attributes> find_path(Filesystem& filesystem, InodeNumber directory, std::string_view path);

class ReceivedFolder {
 public:
  // Makes the folder if it is not there; what is above it must be.
  static Result<ReceivedFolder> open(Filesystem& filesystem, const std::string& path, bool make);

  InodeNumber inode() const { return inode_; }
  bool is_root() const { return inode_ == kRootInode; }
  Result<std::optional<ReceivedState>> state() const { return state_of(inode_); }
  Result<void> note(const ReceivedState& state) const;

  // A snapshot of this volume in which the folder is that snapshot of the sender, complete.
  struct Copy {
    SnapshotRecord snapshot;
    InodeNumber folder = 0;  // in its tree
  };
  Result<std::optional<Copy>> find_copy(const SnapshotIdentity& of) const;
  // kBusy if the folder differs from the copy. In the root of the volume, only `names` count.
  Result<void> check_unchanged(const Copy& copy, const std::set<std::string>& names) const;

 private:
  ReceivedFolder(Filesystem& filesystem, std::string path, InodeNumber inode)
      : filesystem_(filesystem), path_(std::move(path)), inode_(inode) {}
  Result<std::optional<ReceivedState>> state_of(InodeNumber folder) const;

  Filesystem& filesystem_;
  std::string path_;  // in the volume, without '/' around it
  InodeNumber inode_ = 0;
};

}  // namespace dedupfs::transfer
