// What changed between two trees of a volume: a snapshot and a newer one, or the live tree. It reads the before-images, the
// records of inodes that were made between both, and the folders that changes lie in, not both trees.
//
// Threads:   free function, safe from any thread.
// Failure:   kNotFound for a snapshot that is not there; kInvalidArgument if `to` is older than `from`; errors of the database and of GoOn.
// Memory:    some hundred bytes for each changed name and inode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/go_on.h"
#include "base/result.h"
#include "fs/format/types.h"
#include "fs/trees/committed_tree.h"
#include "index/database.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {

// The live tree in the place of a snapshot's name: no snapshot can be created with it.
inline constexpr std::string_view kPresentName = "now";

struct TreeChange {
  // kModified: of an inode that is in both trees, or of a file that another one of the same type replaced under its name.
  enum class Kind { kAdded, kRemoved, kModified, kRenamed };

  Kind kind = Kind::kAdded;
  std::uint32_t type = 0;     // the type bits of the mode
  InodeNumber inode = 0;      // in the newer tree; of kRemoved: in the older one
  InodeNumber old_inode = 0;  // kModified: of the file that was replaced; 0: it is the same inode
  std::string path;           // bytes, relative to the root of the tree; of kRemoved: in the older tree
  std::string old_path;       // kRenamed
  // kModified:
  bool content = false;                      // other chunks hold the content, or it has another size
  std::vector<std::string_view> attributes;  // the names of those that differ; neither atime nor ctime
  // Of regular files, where they are in that tree:
  std::optional<std::uint64_t> size;
  std::optional<std::uint64_t> old_size;

  bool operator==(const TreeChange&) const = default;
};

struct TreeDiff {
  SnapshotRecord from;
  std::optional<SnapshotRecord> to;  // none: the live tree
  std::vector<TreeChange> changes;   // in order of path
  std::uint64_t records_read = 0;    // of the index: a measure of the cost
};

// `to` none: the live tree, as it was committed last.
Result<TreeDiff> diff_trees(const Database& database, std::string_view from, std::optional<std::string_view> to,
                            GoOn go_on = nullptr);

// The same of trees of one state.
Result<TreeDiff> diff_trees(CommittedState& state, const CommittedTree& older, const CommittedTree& newer);

}  // namespace dedupfs
