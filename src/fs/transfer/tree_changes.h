// How the names of one tree become those of a newer one, in an order in which a receiver can follow: first, names that are no more are
// taken away, then each name is made when its directory is there.
//
// Threads:   one user at a time.
// Ownership: the trees must outlive it.
// Memory:    of a whole tree: a number for each inode. Of changes since an older tree: some hundred bytes for each name.
// Failure:   errors of the trees and of the visitor; kCorruption for a directory that is in the tree twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "fs/format/records.h"
#include "fs/transfer/records.h"
#include "fs/trees/changed_records.h"
#include "fs/trees/committed_tree.h"
#include "fs/trees/inode_paths.h"

namespace dedupfs::transfer {

// A RemovedName, MadeInode or PlacedName.
using VisitName = std::function<Result<void>(const Record& record)>;

// All names of a tree.
class WholeTree {
 public:
  explicit WholeTree(const CommittedTree& tree) : tree_(tree) {}

  Result<void> visit_names(const VisitName& visit);
  // In order. Call visit_names() first.
  std::vector<InodeNumber> take_inodes();

 private:
  Result<void> visit_directory(InodeNumber directory, const VisitName& visit);

  const CommittedTree& tree_;
  std::vector<InodeNumber> directories_;  // that were not read yet
  std::vector<InodeNumber> inodes_;
  std::set<InodeNumber> linked_;  // with several names
};

// The names that changed.
class TreeChanges {
 public:
  TreeChanges(const CommittedTree& older, const CommittedTree& newer) : older_(older), newer_(newer) {}

  Result<void> collect();
  Result<void> visit_names(const VisitName& visit);
  // Where it makes a new inode. Nothing for an inode that is not new.
  std::optional<Link> maker_of(InodeNumber inode) const;
  // The file of the older tree that had its name, for a new one: programs write a new file, and give it the name of the old one. 0: none.
  InodeNumber predecessor_of(InodeNumber inode) const;
  // Those that are new, changed in any way, or gone, in order.
  const std::set<InodeNumber>& inodes() const { return inodes_; }

 private:
  struct Change {
    InodeNumber parent = 0;
    std::string name;
    InodeNumber before = 0;  // 0: none
    InodeNumber after = 0;   // 0: none
    bool is_made = false;
  };

  void note_dirent(const ChangedDirent& changed);
  Result<bool> is_new(InodeNumber inode) const;
  Result<void> make(Change& change, const VisitName& visit);

  const CommittedTree& older_;
  const CommittedTree& newer_;
  std::vector<Change> changes_;
  std::map<InodeNumber, std::size_t> makers_;  // of new inodes: the change that makes it
  std::map<InodeNumber, InodeNumber> predecessors_;
  std::set<InodeNumber> inodes_;
};

}  // namespace dedupfs::transfer
