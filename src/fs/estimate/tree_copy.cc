#include "fs/estimate/tree_copy.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "fs/format/mode.h"

namespace dedupfs {
namespace {

constexpr std::size_t kNamedProblems = 10;

}  // namespace

void SourceProblems::note(const Error& error) {
  ++unreadable;
  if (first.size() < kNamedProblems) first.push_back(error);
}

void SourceProblems::note(const ScratchVolume::CopiedFile& copied) {
  if (copied.changed) ++changed;
  if (copied.unreadable) note(*copied.unreadable);
}

InodeNumber TreeCopy::parent_of(const SourceEntry& entry) const {
  return entry.depth == 0 ? kRootInode : folders_[entry.depth - 1];
}

Result<void> TreeCopy::visit(const SourceEntry& entry) {
  const std::string name = entry.depth == 0 ? "root" + std::to_string(entry.root) : entry.name;
  if (S_ISDIR(entry.status.st_mode)) return copy_folder(entry, name);
  if (S_ISREG(entry.status.st_mode)) return copy_regular(entry, name);
  if (S_ISLNK(entry.status.st_mode)) return copy_symlink(entry, name);
  DEDUPFS_ASSIGN(const Attributes made, volume_.filesystem().make_node(parent_of(entry), name, entry.status.st_mode,
                                                                       entry.status.st_rdev, {}));
  volume_.filesystem().forget(made.inode, 1);
  return progress_(0);
}

// Those that a mount would refuse are left out.
Result<void> TreeCopy::copy_xattrs(const SourceEntry& entry, InodeNumber inode) {
  for (const auto& [name, value] : xattrs_of(tree_.path_of(entry.root, entry.relative_path()), entry.depth == 0)) {
    auto set = volume_.filesystem().set_xattr(inode, name, value, Filesystem::XattrMode::kSet);
    if (!set && is_lack_of_memory(set.error())) return set;
  }
  return {};
}

Result<void> TreeCopy::copy_folder(const SourceEntry& entry, const std::string& name) {
  DEDUPFS_ASSIGN(const Attributes made, volume_.filesystem().make_directory(parent_of(entry), name, 0755, {}));
  DEDUPFS_TRY(copy_xattrs(entry, made.inode));
  volume_.filesystem().forget(made.inode, 1);
  folders_.resize(entry.depth);
  folders_.push_back(made.inode);
  return progress_(0);
}

Result<void> TreeCopy::copy_regular(const SourceEntry& entry, const std::string& name) {
  const auto identity = std::pair(entry.status.st_dev, entry.status.st_ino);
  if (const auto first = linked_.find(identity); first != linked_.end()) {
    DEDUPFS_ASSIGN(const Attributes made, volume_.filesystem().make_link(first->second, parent_of(entry), name));
    volume_.filesystem().forget(made.inode, 1);
    return {};
  }
  const auto source = SourceFile::open(tree_.path_of(entry.root, entry.relative_path()), entry.depth == 0);
  if (!source) {
    problems_.note(source.error());
    return {};
  }
  DEDUPFS_ASSIGN(const auto copied, volume_.copy_file(*source, parent_of(entry), name, progress_));
  problems_.note(copied);
  DEDUPFS_TRY(copy_xattrs(entry, copied.inode));
  if (entry.status.st_nlink > 1) linked_.emplace(identity, copied.inode);
  return progress_(0);
}

Result<void> TreeCopy::copy_symlink(const SourceEntry& entry, const std::string& name) {
  const Path path = tree_.path_of(entry.root, entry.relative_path());
  std::array<char, kMaxSymlink + 1> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length <= 0 || static_cast<std::size_t>(length) > kMaxSymlink) {
    problems_.note(length < 0 ? Error::from_errno(errno, path.string())
                              : invalid_argument(path.string() + " is no link"));
    return {};
  }
  DEDUPFS_ASSIGN(
      const Attributes made,
      volume_.filesystem().make_symlink(parent_of(entry), name, {target.data(), static_cast<std::size_t>(length)}, {}));
  volume_.filesystem().forget(made.inode, 1);
  return {};
}

}  // namespace dedupfs
