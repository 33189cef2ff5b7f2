// What differs between two trees of one commit, decoded: of which inodes something changed, and which names lead elsewhere.
//
// Threads: any.
// Failure: errors are the trees'; kCorruption for a record that cannot be decoded, and whatever the visitor returns.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "fs/format/records.h"
#include "fs/format/types.h"
#include "fs/trees/committed_tree.h"

namespace dedupfs {

// A name in a folder that leads to another inode in the newer tree. Inode 0: there is no such name.
struct ChangedDirent {
  InodeNumber parent = 0;
  std::string name;
  Dirent before;
  Dirent after;
};

struct ChangeVisitor {
  std::function<void(InodeNumber)> visit_inode;  // its attributes, or it is made or gone
  std::function<void(const ChangedDirent&)> visit_dirent;
  std::function<void(InodeNumber)> visit_xattr;   // once for each extended attribute that changed
  std::function<void(InodeNumber)> visit_recipe;  // once for each record of its content that changed
};

// In this order: inodes, names, extended attributes, recipes. A name that only moved within the order of its folder is no change.
Result<void> visit_changes(const CommittedTree& older, const CommittedTree& newer, const ChangeVisitor& visitor);

}  // namespace dedupfs
