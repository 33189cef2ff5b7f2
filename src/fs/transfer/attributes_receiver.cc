#include "fs/transfer/attributes_receiver.h"

#include <fmt/format.h>

#include "fs/format/mode.h"
#include "fs/transfer/stream_header.h"

namespace dedupfs::transfer {
namespace {

// Linux lists 64 KiB of one file at most.
constexpr std::size_t kMostXattrBytes = 1 << 20;

}  // namespace

Result<void> AttributesReceiver::apply(InodeNumber inode, const Xattr& xattr) {
  if (xattr.name.starts_with(kOwnXattrPrefix)) return corruption("the stream has an attribute that names no content");
  DEDUPFS_TRY(filesystem_.set_xattr(inode, xattr.name, xattr.value, XattrMode::kSet));
  if (xattrs_.insert(xattr.name).second) xattr_bytes_ += xattr.name.size() + 1;
  if (xattr_bytes_ <= kMostXattrBytes) return {};
  return Error{ErrorCode::kTooLarge, fmt::format("a file of the stream has extended attributes whose names are longer "
                                                 "than {} bytes",
                                                 kMostXattrBytes)};
}

Result<void> AttributesReceiver::remove_other_xattrs(InodeNumber inode) {
  DEDUPFS_ASSIGN(const auto names, filesystem_.list_xattrs(inode));
  for (const std::string& name : names)
    if (!xattrs_.contains(name)) DEDUPFS_TRY(filesystem_.remove_xattr(inode, name));
  xattrs_.clear();
  xattr_bytes_ = 0;
  return {};
}

Result<void> AttributesReceiver::apply(InodeNumber inode, const FinishedInode& finished) {
  DEDUPFS_ASSIGN(const Attributes before, filesystem_.attributes(inode));
  AttributeChanges owner{.uid = finished.uid, .gid = finished.gid};
  if (is_regular(before.mode) && before.size != finished.size) owner.size = finished.size;
  DEDUPFS_TRY(filesystem_.set_attributes(inode, owner, {}));
  DEDUPFS_TRY(filesystem_.set_attributes(
      inode, {.mode = finished.mode, .atime = finished.atime, .mtime = finished.mtime, .ctime = finished.ctime}, {}));
  return {};
}

}  // namespace dedupfs::transfer
