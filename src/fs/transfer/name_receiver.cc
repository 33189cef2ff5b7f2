#include "fs/transfer/name_receiver.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "fs/format/mode.h"
#include "fs/transfer/received_folder.h"

namespace dedupfs::transfer {
namespace {

std::string work_name_of(InodeNumber inode) {
  return fmt::format("{}", inode);
}

Result<void> at_name(const Result<void>& result, std::string_view name) {
  return result ? result : result.error().with(printable(name));
}

}  // namespace

Result<InodeNumber> NameReceiver::entry_at(InodeNumber directory, std::string_view name) const {
  const auto found = find_entry(filesystem_, directory, name);
  if (found) return found->inode;
  return found.error().code() == ErrorCode::kNotFound ? Result<InodeNumber>(0) : found.error();
}

Result<void> NameReceiver::remove(InodeNumber parent, const std::string& name, InodeNumber inode,
                                  bool inode_stays) const {
  DEDUPFS_ASSIGN(const InodeNumber there, entry_at(parent, name));
  if (there != inode) return {};  // that was done before an interruption
  DEDUPFS_ASSIGN(const Attributes attributes, filesystem_.attributes(inode));
  const std::string work_name = work_name_of(inode);
  bool moves = is_directory(attributes.mode);
  if (!moves && inode_stays) {
    DEDUPFS_ASSIGN(const InodeNumber kept, entry_at(work_folder_, work_name));
    moves = kept == 0;
  }
  return at_name(moves ? filesystem_.rename(parent, name, work_folder_, work_name, RenameMode::kNoReplace)
                       : filesystem_.unlink(parent, name),
                 name);
}

Result<void> NameReceiver::place(InodeNumber parent, const std::string& name, InodeNumber inode) const {
  DEDUPFS_ASSIGN(const InodeNumber there, entry_at(parent, name));
  if (there == inode) return {};
  if (there != 0) return in_the_way(name);
  const std::string work_name = work_name_of(inode);
  DEDUPFS_ASSIGN(const InodeNumber kept, entry_at(work_folder_, work_name));
  if (kept == inode)
    return at_name(filesystem_.rename(work_folder_, work_name, parent, name, RenameMode::kNoReplace), name);
  const auto linked = filesystem_.make_link(inode, parent, name);
  if (!linked) return linked.error().with(printable(name));
  filesystem_.forget(inode, 1);
  return {};
}

Result<InodeNumber> NameReceiver::make(InodeNumber parent, const MadeInode& made) const {
  const auto make_it = [&]() -> Result<Attributes> {
    if (is_directory(made.mode)) return filesystem_.make_directory(parent, made.name, made.mode & kPermissionBits, {});
    if (is_symlink(made.mode)) return filesystem_.make_symlink(parent, made.name, made.target, {});
    // Without the bits that let it run as its owner, until it has one.
    return filesystem_.make_node(parent, made.name, type_bits(made.mode) | (made.mode & 0700), made.device, {});
  };
  const auto inode = make_it();
  if (!inode) return inode.error().with(printable(made.name));
  filesystem_.forget(inode->inode, 1);
  return inode->inode;
}

Error NameReceiver::in_the_way(std::string_view name) {
  return {ErrorCode::kExists, fmt::format("'{}' is here already, and is no part of what was received: move it away, or "
                                          "receive with --into another folder",
                                          printable(name))};
}

}  // namespace dedupfs::transfer
