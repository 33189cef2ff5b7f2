// The trees of a volume: the live one, and one for each snapshot. A node names an inode in one of them: the inode's number, with
// the number of the tree in the upper bits. So a node of the live tree is the inode number itself. Keys of the namespace begin
// with a node.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/coding.h"
#include "index/database.h"

namespace dedupfs {

using TreeNumber = std::uint32_t;  // of a snapshot: its number, which is never used again
inline constexpr TreeNumber kLiveTree = 0;
inline constexpr TreeNumber kEndOfTrees = 1 << 20;

inline constexpr int kInodeBits = 43;  // with the trees above them: all of a signed number of 64 bits
inline constexpr std::uint64_t kEndOfInodes = std::uint64_t{1} << kInodeBits;

constexpr std::uint64_t node_of(TreeNumber tree, std::uint64_t inode) {
  return std::uint64_t{tree} << kInodeBits | inode;
}
constexpr TreeNumber tree_of(std::uint64_t node) {
  return static_cast<TreeNumber>(node >> kInodeBits);
}
constexpr std::uint64_t inode_of(std::uint64_t node) {
  return node & (kEndOfInodes - 1);
}

// The families whose keys begin with a node: those that a snapshot keeps. Before-images have their places here in their keys.
inline constexpr std::array kTreeFamilies = {Family::kInodes, Family::kDirents, Family::kCookies,
                                             Family::kXattrs, Family::kRecipes, Family::kOrphans};
constexpr bool is_of_tree(Family family) {
  return std::ranges::find(kTreeFamilies, family) != kTreeFamilies.end();
}

inline std::uint64_t node_in_key(std::string_view key) {
  return Decoder(key).big_u64();
}
// The same key in another tree.
inline std::string key_in_tree(std::string_view key, TreeNumber tree) {
  std::string moved;
  Encoder(moved).big_u64(node_of(tree, inode_of(node_in_key(key))));
  moved += key.substr(std::min(key.size(), sizeof(std::uint64_t)));
  return moved;
}

}  // namespace dedupfs
