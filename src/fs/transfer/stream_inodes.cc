#include "fs/transfer/stream_inodes.h"

#include <fmt/format.h>

#include <utility>

#include "base/printable.h"

namespace dedupfs::transfer {
namespace {

Error not_brought(std::string_view path) {
  return corruption(
      fmt::format("{}: the stream names a file that neither it nor its base has brought here", printable(path)));
}

}  // namespace

void StreamInodes::use_base(const ReceivedFolder::Copy& base, std::set<std::string> names) {
  base_ = base;
  base_names_ = std::move(names);
}

void StreamInodes::begin(const StreamChanges& changes, std::uint64_t most) {
  changes_ = &changes;
  most_ = most;
}

Result<InodeNumber> StreamInodes::find(InodeNumber inode) const {
  const InodeNumber number = number_of(inode);
  if (number == 0) return corruption(fmt::format("the stream names inode {} and does not say where it is", inode));
  return number;
}

InodeNumber StreamInodes::number_of(InodeNumber inode) const {
  const auto known = numbers_.find(inode);
  return known == numbers_.end() ? 0 : known->second;
}

Result<void> StreamInodes::apply(const KnownInode& known) {
  InodeNumber directory = 0;
  if (known.tree == Tree::kBase) {
    if (!base_) return corruption("the stream names a base, and has none");
    DEDUPFS_TRY(check_brought(folder_.inode(), known.path.substr(0, known.path.find('/'))));
    directory = base_->folder;
  } else {
    DEDUPFS_ASSIGN(directory, find(known.parent));
  }
  const auto there = find_path(filesystem_, directory, known.path);
  if (!there) return there.error().with(printable(known.path));
  if (changes_->is_own(there->inode)) return corruption("the stream names the notes of the receiver");
  const bool is_its_own = there->inode == folder_.inode() || changes_->has_made(there->inode);
  if (known.tree == Tree::kNow && !is_its_own) return not_brought(known.path);
  return found(known.inode, inode_of(there->inode));
}

Result<void> StreamInodes::found(InodeNumber inode, InodeNumber number) {
  numbers_[inode] = number;
  if (numbers_.size() > most_) return corruption("the stream names more inodes than there are");
  return {};
}

Result<void> StreamInodes::made(InodeNumber inode, InodeNumber number) {
  ++most_;
  return found(inode, number);
}

Result<void> StreamInodes::check_brought(InodeNumber folder, const std::string& name) const {
  if (folder == folder_.inode() && folder_.is_root() && !base_names_.contains(name)) return not_brought(name);
  return {};
}

}  // namespace dedupfs::transfer
