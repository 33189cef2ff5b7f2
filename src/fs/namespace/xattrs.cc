#include "fs/namespace/xattrs.h"

#include <utility>

#include "base/mutex.h"
#include "fs/format/mode.h"
#include "fs/format/records.h"
#include "fs/inodes/inode_record.h"
#include "fs/namespace/posix_acl.h"

namespace dedupfs {
namespace {

bool is_acl(std::string_view name) {
  return name == kAccessAclName || name == kDefaultAclName;
}

Result<void> check_xattr_name(std::string_view name) {
  if (is_acl(name)) return {};
  for (const std::string_view prefix : {"user.", "trusted.", "security."}) {
    if (!name.starts_with(prefix)) continue;
    if (name.size() > kMaxXattrName) return Error{ErrorCode::kBufferTooSmall, "the name of an extended attribute"};
    if (name.size() == prefix.size() || name.find('\0') != std::string_view::npos)
      return Error{ErrorCode::kInvalidArgument, "'" + std::string(name) + "' cannot name an extended attribute"};
    return {};
  }
  return Error{ErrorCode::kUnsupported, "extended attributes like '" + std::string(name) + "'"};
}

Error no_xattr(std::string_view name) {
  return {ErrorCode::kNoData, "no extended attribute '" + std::string(name) + "'"};
}

}  // namespace

Result<std::optional<std::string>> Xattrs::find(const Inode& inode, std::string_view name) const {
  if (!inode.record.has_xattrs) return std::nullopt;
  return metadata_.get(Family::kXattrs, encode_xattr_key(inode.number, name));
}

void Xattrs::put(Inode& inode, std::string_view name, std::string value) {
  metadata_.put(Family::kXattrs, encode_xattr_key(inode.number, name), std::move(value));
  inode.record.has_xattrs = true;
}

Result<void> Xattrs::erase(Inode& inode, std::string_view name) {
  const std::string key = encode_xattr_key(inode.number, name);
  DEDUPFS_ASSIGN(const std::vector<KeyValue> first_two,
                 metadata_.list(Family::kXattrs, encode_inode_key(inode.number), encode_key_behind(inode.number), 2));
  metadata_.erase(Family::kXattrs, key);
  inode.record.has_xattrs = first_two.size() > 1;
  return {};
}

Result<void> Xattrs::inherit_acls(const Inode& directory, Inode& child, const Caller& caller) {
  std::uint32_t& mode = child.record.attributes.mode;
  if (is_symlink(mode)) return {};
  DEDUPFS_ASSIGN(const std::optional<std::string> value, find(directory, kDefaultAclName));
  if (!value) {
    mode &= ~(caller.umask & 0777);
    return {};
  }
  Result<PosixAcl> acl = PosixAcl::decode(*value);
  if (!acl || acl->empty())
    return Error{ErrorCode::kCorruption, "the default access list of directory " + std::to_string(directory.number)};
  acl->restrict_to(mode);
  mode = (mode & ~std::uint32_t{0777}) | acl->permissions();
  if (acl->extends_mode()) put(child, kAccessAclName, acl->encode());
  if (is_directory(mode)) put(child, kDefaultAclName, *value);
  return {};
}

Result<void> Xattrs::update_acl_for_mode(Inode& inode, std::uint32_t mode) {
  DEDUPFS_ASSIGN(const std::optional<std::string> value, find(inode, kAccessAclName));
  if (!value) return {};
  Result<PosixAcl> acl = PosixAcl::decode(*value);
  if (!acl) return Error{ErrorCode::kCorruption, "the access list of inode " + std::to_string(inode.number)};
  acl->set_permissions(mode);
  put(inode, kAccessAclName, acl->encode());
  return {};
}

Result<void> Xattrs::set(InodeNumber number, std::string_view name, std::string_view value, XattrMode mode,
                         const Caller& caller) {
  DEDUPFS_TRY(transactions_.check_writable(number));
  DEDUPFS_TRY(check_xattr_name(name));
  if (value.size() > kMaxXattrValue) return Error{ErrorCode::kTooLarge, "the value of an extended attribute"};
  PosixAcl acl;
  if (is_acl(name)) {
    DEDUPFS_ASSIGN(acl, PosixAcl::decode(value));
    if (acl.empty()) return remove(number, name);
  }
  DEDUPFS_TRY(space_.admit_metadata());
  const Transactions::Change change(transactions_);
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  const MutexLock lock(inode->mutex);
  std::uint32_t& file_mode = inode->record.attributes.mode;
  if (is_acl(name) && is_symlink(file_mode)) return Error{ErrorCode::kUnsupported, "access lists of symbolic links"};
  if (name == kDefaultAclName && !is_directory(file_mode))
    return Error{ErrorCode::kAccessDenied, "only directories have a default access list"};
  DEDUPFS_ASSIGN(const std::optional<std::string> existing, find(*inode, name));
  if (existing && mode == XattrMode::kCreate)
    return Error{ErrorCode::kExists, "extended attribute '" + std::string(name) + "' is there already"};
  if (!existing && mode == XattrMode::kReplace) return no_xattr(name);

  const bool is_access_list = name == kAccessAclName;
  if (is_access_list) {
    file_mode = (file_mode & ~std::uint32_t{0777}) | acl.permissions();
    // As chmod(2), and posix_acl_update_mode() of Linux: only a member of the group keeps the set-group-id bit.
    if ((file_mode & S_ISGID) != 0 && !caller.is_in_group(inode->record.attributes.gid) && !caller.may_keep_set_ids())
      file_mode &= ~std::uint32_t{S_ISGID};
  }
  if (is_access_list && !acl.extends_mode()) {
    if (existing) DEDUPFS_TRY(erase(*inode, name));
  } else {
    put(*inode, name, is_acl(name) ? acl.encode() : std::string(value));
  }
  inode->record.attributes.ctime = Timestamp::now();
  put_record(metadata_, *inode);
  return {};
}

Result<std::string> Xattrs::get(InodeNumber number, std::string_view name) {
  DEDUPFS_TRY(check_xattr_name(name));
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  const MutexLock lock(inode->mutex);
  DEDUPFS_ASSIGN(std::optional<std::string> value, find(*inode, name));
  if (!value) return no_xattr(name);
  return std::move(*value);
}

Result<std::vector<std::string>> Xattrs::list(InodeNumber number) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  const MutexLock lock(inode->mutex);
  std::vector<std::string> names;
  if (!inode->record.has_xattrs) return names;
  constexpr std::size_t kNamesAPage = 16;  // each comes with its value of up to 64 KiB
  // The kernel returns no more (XATTR_LIST_MAX), and fails with E2BIG if there are more.
  constexpr std::size_t kMaxBytes = 64 << 10;
  std::string from = encode_inode_key(number);
  const std::string end = encode_key_behind(number);
  for (std::size_t bytes = 0; bytes <= kMaxBytes;) {
    DEDUPFS_ASSIGN(const std::vector<KeyValue> page, metadata_.list(Family::kXattrs, from, end, kNamesAPage));
    for (const auto& [key, value] : page) {
      DEDUPFS_ASSIGN(const XattrKey place, decode_xattr_key(key));
      if (place.name.starts_with(kOwnXattrPrefix)) continue;
      names.emplace_back(place.name);
      bytes += place.name.size() + 1;
    }
    if (page.size() < kNamesAPage) break;
    from = page.back().first + '\0';
  }
  return names;
}

Result<void> Xattrs::remove(InodeNumber number, std::string_view name) {
  DEDUPFS_TRY(transactions_.check_writable(number));
  DEDUPFS_TRY(check_xattr_name(name));
  const Transactions::Change change(transactions_);
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  const MutexLock lock(inode->mutex);
  DEDUPFS_ASSIGN(const std::optional<std::string> existing, find(*inode, name));
  if (!existing) {
    if (is_acl(name)) return {};  // as ext4 and xfs: the mode has all of it
    return no_xattr(name);
  }
  DEDUPFS_TRY(erase(*inode, name));
  inode->record.attributes.ctime = Timestamp::now();
  put_record(metadata_, *inode);
  return {};
}

}  // namespace dedupfs
