#include "crash/tree.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace dedupfs {
namespace {

std::uint64_t hash_of(const std::string& bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string line(const std::string& path, const Attributes& attributes, const std::string& content,
                 const std::map<std::string, std::string>& xattrs) {
  const auto time = [](const Timestamp& at) { return fmt::format("{}.{:09}", at.seconds, at.nanoseconds); };
  std::string text = fmt::format(
      "{} inode {} mode {:o} owner {}:{} links {} size {} content {:016x} modified {} changed {} born {}", path,
      inode_of(attributes.inode), attributes.mode, attributes.uid, attributes.gid, attributes.links, content.size(),
      hash_of(content), time(attributes.mtime), time(attributes.ctime), time(attributes.btime));
  for (const auto& [name, value] : xattrs) text += fmt::format(" {}={:016x}", name, hash_of(value));
  return text + "\n";
}

class RealTree {
 public:
  explicit RealTree(Filesystem& filesystem) : filesystem_(filesystem) {}

  Result<Tree> describe() {
    DEDUPFS_TRY(add(kRootInode, "/"));
    tree_.inodes = inodes_.size();
    std::string text = std::exchange(tree_.text, {});
    std::map<std::string, TreeNumber> snapshots;
    for (const SnapshotRecord& snapshot : filesystem_.snapshots()) snapshots[snapshot.name] = snapshot.number;
    for (const auto& [name, number] : snapshots) {
      DEDUPFS_TRY(add(node_of(number, kRootInode), "/"));
      text += in_snapshot(name, std::exchange(tree_.text, {}));
    }
    return Tree{.text = std::move(text), .inodes = tree_.inodes};
  }

 private:
  Result<void> add(InodeNumber inode, const std::string& path) {
    DEDUPFS_ASSIGN(const Attributes attributes, filesystem_.attributes(inode));
    inodes_.insert(inode);
    std::string content;
    if (is_regular(attributes.mode)) {
      DEDUPFS_ASSIGN(const auto pieces, filesystem_.read(inode, 0, attributes.size));
      for (const PinnedBytes& piece : pieces) content += text_of(piece.bytes);
      if (content.size() != attributes.size)
        return Error{ErrorCode::kCorruption, path + " reads as fewer bytes than its size says"};
    } else if (is_symlink(attributes.mode)) {
      DEDUPFS_ASSIGN(content, filesystem_.read_symlink(inode));
    }
    std::map<std::string, std::string> xattrs;
    DEDUPFS_ASSIGN(const auto names, filesystem_.list_xattrs(inode));
    for (const std::string& name : names) {
      DEDUPFS_ASSIGN(xattrs[name], filesystem_.get_xattr(inode, name));
    }
    tree_.text += line(path, attributes, content, xattrs);
    if (!is_directory(attributes.mode)) return {};

    std::map<std::string, InodeNumber> entries;
    DEDUPFS_TRY(filesystem_.read_directory(inode, 2, false, [&](const DirectoryEntry& entry) {
      entries[entry.name] = entry.attributes.inode;
      return true;
    }));
    for (const auto& [name, child] : entries) DEDUPFS_TRY(add(child, path + (path == "/" ? "" : "/") + name));
    return {};
  }

  Filesystem& filesystem_;
  Tree tree_;
  std::set<InodeNumber> inodes_;
};

Result<void> add_model(const ModelNode& node, const std::string& path, Filesystem& filesystem, Tree& tree,
                       std::set<InodeNumber>& inodes) {
  DEDUPFS_ASSIGN(Attributes attributes, filesystem.attributes(node.number));
  inodes.insert(node.number);
  attributes.inode = node.number;
  attributes.mode = node.mode;
  attributes.uid = node.uid;
  attributes.gid = node.gid;
  attributes.links = node.links;
  tree.text += line(path, attributes, node.content, node.xattrs);
  for (const auto& [name, child] : node.entries)
    DEDUPFS_TRY(add_model(*child, path + (path == "/" ? "" : "/") + name, filesystem, tree, inodes));
  return {};
}

}  // namespace

Result<Tree> tree_of(Filesystem& filesystem) {
  return RealTree(filesystem).describe();
}

Result<Tree> tree_of(const FilesystemModel& model, Filesystem& filesystem) {
  Tree tree;
  std::set<InodeNumber> inodes;
  DEDUPFS_TRY(add_model(*model.root(), "/", filesystem, tree, inodes));
  tree.inodes = inodes.size();
  return tree;
}

std::string in_snapshot(const std::string& name, const std::string& tree) {
  std::istringstream lines(tree);
  std::string text;
  for (std::string line; std::getline(lines, line);) text += fmt::format("/{}/{}{}\n", kSnapshotsName, name, line);
  return text;
}

std::string difference(const std::string& expected, const std::string& found) {
  std::istringstream left(expected);
  std::istringstream right(found);
  for (;;) {
    std::string a;
    std::string b;
    const bool more_left = static_cast<bool>(std::getline(left, a));
    const bool more_right = static_cast<bool>(std::getline(right, b));
    if (!more_left && !more_right) return "none";
    if (a != b) return "expected '" + a + "', found '" + b + "'";
  }
}

}  // namespace dedupfs
