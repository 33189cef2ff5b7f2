// Finds the paths of inodes in a tree. Only directories know their parents, and no inode knows its name, so names are searched: in
// the folder that is known to hold them, else in the folder that was made before the inode, and in those around it; at last, in
// all folders.
//
// Threads:   one user at a time.
// Ownership: the tree must outlive it.
// Failure:   errors are the tree's. An inode without a name, in a damaged volume, has the path "[inode N]".
// Memory:    the names of the inodes that are wanted, and of the folders beside them; with Keeps::kAllRead, all names that were read.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "fs/format/types.h"
#include "fs/trees/committed_tree.h"

namespace dedupfs {

// A name in a folder.
struct Link {
  InodeNumber parent = 0;
  std::string name;

  auto operator<=>(const Link&) const = default;
};

class InodePaths {
 public:
  // kAllRead: for whoever wants inodes one by one. No folder is read twice.
  enum class Keeps { kWanted, kAllRead };

  explicit InodePaths(const CommittedTree& tree, Keeps keeps = Keeps::kWanted) : tree_(tree), keeps_(keeps) {}

  void know(InodeNumber inode, const Link& link);  // it needs no search for this inode
  void want(InodeNumber inode) { wanted_.push_back(inode); }
  // Finds the names of all that are wanted, and of the folders around them.
  Result<void> find();

  // Bytes, relative to the root of the tree, which is ".". Call find() first.
  std::string path_of(InodeNumber inode) const;
  std::string path_of(const Link& link) const;

 private:
  bool has(InodeNumber inode) const { return inode == kRootInode || names_.contains(inode); }
  Result<void> search(InodeNumber inode);
  Result<std::optional<InodeNumber>> parent_of(InodeNumber folder);
  Result<std::optional<InodeNumber>> folder_made_before(InodeNumber inode) const;
  Result<void> read_folder(InodeNumber folder);
  Result<void> read_all_folders();
  Result<void> note(std::string_view key, std::string_view value);

  const CommittedTree& tree_;
  const Keeps keeps_;
  bool has_read_all_ = false;
  std::vector<InodeNumber> wanted_;
  std::set<InodeNumber> sought_;
  std::map<InodeNumber, Link> names_;
  std::map<InodeNumber, std::optional<InodeNumber>> parents_;  // of folders
  std::set<InodeNumber> read_;                                 // folders
  std::set<InodeNumber> found_;                                // with a name, whose folder was wanted in its turn
};

}  // namespace dedupfs
