// The record of an inode in a tree.
//
// Threads: free function; one user of the tree at a time.
// Failure: errors of the tree; kCorruption for a record that does not parse.
#pragma once

#include <optional>
#include <utility>

#include "base/result.h"
#include "fs/format/records.h"
#include "fs/trees/committed_tree.h"

namespace dedupfs {

// Nothing for an inode that is not there, or has no name there: it was deleted while it was open.
inline Result<std::optional<InodeRecord>> named_inode(const CommittedTree& tree, InodeNumber inode) {
  DEDUPFS_ASSIGN(const auto stored, tree.get(Family::kInodes, encode_inode_key(inode)));
  if (!stored) return std::nullopt;
  DEDUPFS_ASSIGN(InodeRecord record, decode_inode(inode, *stored));
  if (record.attributes.links == 0) return std::nullopt;
  return record;
}

}  // namespace dedupfs
