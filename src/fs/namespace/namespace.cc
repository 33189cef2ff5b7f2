#include "fs/namespace/namespace.h"

#include <optional>
#include <utility>

#include "base/mutex.h"
#include "fs/format/mode.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {
namespace {

Error not_found(InodeNumber parent, std::string_view name) {
  return {ErrorCode::kNotFound, "no '" + std::string(name) + "' in directory " + std::to_string(parent)};
}

Error exists(std::string_view name) {
  return {ErrorCode::kExists, "'" + std::string(name) + "' is there already"};
}

Error deleted(InodeNumber inode) {
  return {ErrorCode::kNotFound, "inode " + std::to_string(inode) + " was deleted"};
}

Error removed(InodeNumber directory) {
  return {ErrorCode::kNotFound, "directory " + std::to_string(directory) + " was removed"};
}

void touch(Inode& directory, const Timestamp& now) DEDUPFS_REQUIRES(directory.mutex) {
  directory.record.attributes.mtime = now;
  directory.record.attributes.ctime = now;
}

Result<void> check_takes_subdirectory(const Inode& directory) DEDUPFS_REQUIRES(directory.mutex) {
  if (directory.record.attributes.links < kMaxLinks) return {};
  return Error{ErrorCode::kTooManyLinks,
               "directory " + std::to_string(directory.number) + " has too many subdirectories"};
}

}  // namespace

Result<Attributes> Namespace::lookup(InodeNumber parent, std::string_view name) {
  if (name == ".") return reference_by_number(parent);
  DEDUPFS_ASSIGN(const InodePtr directory, table_.get_directory(parent));
  if (name == "..") {
    return reference_by_number(parent_of(*directory));
  }
  DEDUPFS_TRY(DirectoryEntries::check_new_name(name));
  if (parent == kSnapshotsInode) return snapshots_directory_.lookup(name);

  // Held until the reference is counted: an unlink at the same time must not find the inode without a holder.
  const NameLocks::Shared lock(names_, parent);
  DEDUPFS_ASSIGN(const std::optional<Dirent> entry, entries_.find(parent, name));
  if (!entry && entries_.is_taken_by_snapshots(parent, name)) return reference_by_number(kSnapshotsInode);
  if (!entry) return not_found(parent, name);
  DEDUPFS_ASSIGN(const InodePtr inode, entries_.target_of(parent, name, *entry));
  return references_.add(*inode, parent, name);
}

Result<Attributes> Namespace::reference_by_number(InodeNumber number) {
  DEDUPFS_TRY(snapshots_directory_.check_visible(number));
  return references_.add(number);
}

Result<Attributes> Namespace::make(InodeNumber parent, std::string_view name, InodeRecord record,
                                   const Caller& caller) {
  DEDUPFS_TRY(transactions_.check_writable(parent));
  DEDUPFS_TRY(DirectoryEntries::check_new_name(name));
  DEDUPFS_TRY(space_.admit_metadata());
  DEDUPFS_ASSIGN(const InodePtr directory, table_.get_directory(parent));
  DEDUPFS_TRY(quotas_.admit_file(*directory));
  const Transactions::Change change(transactions_);
  const NameLocks::Exclusive name_lock(names_, parent);
  const MutexLock directory_lock(directory->mutex);
  DEDUPFS_TRY(entries_.check_takes_names(*directory));
  const bool makes_directory = is_directory(record.attributes.mode);
  if (makes_directory) DEDUPFS_TRY(check_takes_subdirectory(*directory));
  DEDUPFS_ASSIGN(const std::optional<Dirent> existing, entries_.find(parent, name));
  if (existing || entries_.is_taken_by_snapshots(parent, name)) return exists(name);

  const Timestamp now = Timestamp::now();
  DEDUPFS_ASSIGN(const InodePtr inode, maker_.make(*directory, std::move(record), caller, now));
  {
    const MutexLock inode_lock(inode->mutex);  // after its directory's: a new number is greater
    entries_.add(*directory, name, *inode);
  }
  if (makes_directory) add_subdirectory(directory->record.attributes);
  touch(*directory, now);
  put_record(metadata_, *directory);
  return references_.add(*inode, parent, name);
}

Result<Attributes> Namespace::make_node(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                        std::uint64_t device, const Caller& caller) {
  if (type_bits(mode) == 0) mode |= S_IFREG;
  if (!is_known_type(mode) || is_directory(mode) || is_symlink(mode))
    return Error{ErrorCode::kInvalidArgument, "mknod cannot make an object of this type"};
  InodeRecord record;
  record.attributes.mode = type_bits(mode) | (mode & kPermissionBits);
  if (is_device(mode)) record.attributes.device = device;
  return make(parent, name, std::move(record), caller);
}

Result<Attributes> Namespace::make_directory(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                             const Caller& caller) {
  InodeRecord record;
  record.attributes.mode = S_IFDIR | (mode & kPermissionBits);
  return make(parent, name, std::move(record), caller);
}

Result<Attributes> Namespace::make_symlink(InodeNumber parent, std::string_view name, std::string_view target,
                                           const Caller& caller) {
  if (target.empty()) return Error{ErrorCode::kNotFound, "a symbolic link to nothing"};
  if (target.size() > kMaxSymlink) return Error{ErrorCode::kNameTooLong, "the target of a symbolic link"};
  if (target.find('\0') != std::string_view::npos)
    return Error{ErrorCode::kInvalidArgument, "NUL in the target of a symbolic link"};
  InodeRecord record;
  record.attributes.mode = S_IFLNK | 0777;
  record.attributes.size = target.size();
  record.symlink_target = target;
  return make(parent, name, std::move(record), caller);
}

Result<std::string> Namespace::read_symlink(InodeNumber number) {
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  std::string target;
  {
    const MutexLock lock(inode->mutex);
    if (!is_symlink(inode->record.attributes.mode))
      return Error{ErrorCode::kInvalidArgument, "inode " + std::to_string(number) + " is not a symbolic link"};
    target = inode->record.symlink_target;
  }
  access_times_.note(inode);
  return target;
}

Result<Attributes> Namespace::make_unnamed(InodeNumber directory_number, std::uint32_t mode, const Caller& caller) {
  DEDUPFS_TRY(transactions_.check_writable(directory_number));
  DEDUPFS_TRY(space_.admit_metadata());
  DEDUPFS_ASSIGN(const InodePtr directory, table_.get_directory(directory_number));
  DEDUPFS_TRY(quotas_.admit_file(*directory));
  const Transactions::Change change(transactions_);
  const MutexLock directory_lock(directory->mutex);
  if (directory->record.attributes.links == 0) return removed(directory_number);
  InodeRecord record;
  record.attributes.mode = S_IFREG | (mode & kPermissionBits);
  DEDUPFS_ASSIGN(const InodePtr inode,
                 maker_.make(*directory, std::move(record), caller, Timestamp::now(), InodeMaker::Named::kNo));
  entries_.note_unnamed(inode->number);
  table_.reference_unnamed(inode->number);
  const MutexLock inode_lock(inode->mutex);  // after its directory's: a new number is greater
  return attributes_of(*inode);
}

Result<Attributes> Namespace::make_link(InodeNumber number, InodeNumber parent, std::string_view name) {
  DEDUPFS_TRY(transactions_.check_writable(parent));
  DEDUPFS_TRY(transactions_.check_writable(number));
  DEDUPFS_TRY(DirectoryEntries::check_new_name(name));
  DEDUPFS_TRY(space_.admit_metadata());
  const Transactions::Change change(transactions_);
  const NameLocks::Exclusive name_lock(names_, parent);
  DEDUPFS_ASSIGN(const InodePtr directory, table_.get_directory(parent));
  DEDUPFS_ASSIGN(const InodePtr inode, table_.get(number));
  const InodeLocks inode_locks(*directory, *inode);
  Attributes& attributes = inode->record.attributes;
  if (is_directory(attributes.mode)) return Error{ErrorCode::kNotPermitted, "a hard link to a directory"};
  DEDUPFS_TRY(entries_.check_takes_names(*directory));
  const bool was_unnamed = attributes.links == 0;
  if (was_unnamed && !table_.is_unnamed(number)) return deleted(number);
  if (attributes.links >= kMaxLinks)
    return Error{ErrorCode::kTooManyLinks, "inode " + std::to_string(number) + " has too many links"};
  DEDUPFS_ASSIGN(const std::optional<Dirent> existing, entries_.find(parent, name));
  if (existing || entries_.is_taken_by_snapshots(parent, name)) return exists(name);
  DEDUPFS_TRY(QuotaGuard::check_same_tree(*directory, *inode));
  if (was_unnamed) {
    if (!table_.name_unnamed(number)) return deleted(number);  // its last holder has gone since
    entries_.note_named(number);
  }

  const Timestamp now = Timestamp::now();
  entries_.add(*directory, name, *inode);
  ++attributes.links;
  attributes.ctime = now;
  put_record(metadata_, *inode);
  touch(*directory, now);
  put_record(metadata_, *directory);
  table_.reference(number, 1);
  return attributes_of(*inode);
}

Result<void> Namespace::unlink(InodeNumber parent, std::string_view name) {
  return remove(parent, name, Removes::kAllButDirectories);
}

Result<void> Namespace::remove_directory(InodeNumber parent, std::string_view name) {
  return remove(parent, name, Removes::kDirectories);
}

Result<void> Namespace::remove(InodeNumber parent, std::string_view name, Removes removes) {
  DEDUPFS_TRY(transactions_.check_writable(parent));
  DEDUPFS_TRY(DirectoryEntries::check_new_name(name));
  const Transactions::Change change(transactions_);
  const NameLocks::Exclusive name_lock(names_, parent);
  DEDUPFS_ASSIGN(const InodePtr directory, table_.get_directory(parent));
  DEDUPFS_ASSIGN(const std::optional<Dirent> entry, entries_.find(parent, name));
  if (!entry && entries_.is_taken_by_snapshots(parent, name))
    return Error{ErrorCode::kNotPermitted, "'" + std::string(name) + "' is where the snapshots are"};
  if (!entry) return not_found(parent, name);
  DEDUPFS_ASSIGN(const InodePtr inode, entries_.target_of(parent, name, *entry));
  const InodeLocks inode_locks(*directory, *inode);
  const bool removes_directory = is_directory(inode->record.attributes.mode);
  if (removes_directory && removes != Removes::kDirectories)
    return Error{ErrorCode::kIsDirectory, "'" + std::string(name) + "' is a directory"};
  if (!removes_directory && removes == Removes::kDirectories)
    return Error{ErrorCode::kNotDirectory, "'" + std::string(name) + "' is not a directory"};
  if (removes_directory) {
    DEDUPFS_ASSIGN(const bool empty, entries_.is_empty(inode->number));
    if (!empty) return Error{ErrorCode::kNotEmpty, "'" + std::string(name) + "' has entries"};
  }

  const Timestamp now = Timestamp::now();
  entries_.remove(*directory, name, *entry);
  if (removes_directory) drop_subdirectory(directory->record.attributes);
  touch(*directory, now);
  put_record(metadata_, *directory);
  entries_.drop_link(inode, now);
  return {};
}

}  // namespace dedupfs
