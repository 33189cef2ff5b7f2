// Names: looking them up, making, linking, removing and renaming them.
#include <spdlog/spdlog.h>

#include "fs/namespace/filesystem.h"
#include "fs/namespace/filesystem_state.h"
#include "fs/namespace/posix_acl.h"

namespace dedupfs {
namespace {

Error not_found(InodeNumber parent, std::string_view name) {
  return {ErrorCode::kNotFound, "no '" + std::string(name) + "' in directory " + std::to_string(parent)};
}

Error not_removable(InodeNumber parent, std::string_view name) {
  if (is_snapshots_entry(parent, name))
    return {ErrorCode::kNotPermitted, "'" + std::string(name) + "' is where the snapshots are"};
  return not_found(parent, name);
}

Error exists(std::string_view name) {
  return {ErrorCode::kExists, "'" + std::string(name) + "' is there already"};
}

void touch(Inode& directory, const Timestamp& now) {
  directory.record.attributes.mtime = now;
  directory.record.attributes.ctime = now;
}

Result<void> check_takes_subdirectory(const Inode& directory) {
  if (directory.record.attributes.links < kMaxLinks) return {};
  return Error{ErrorCode::kTooManyLinks,
               "directory " + std::to_string(directory.number) + " has too many subdirectories"};
}

// The number that a new inode has taken; given back unless the inode comes to be.
class NumberInUse {
 public:
  explicit NumberInUse(InodeNumbers& numbers) : numbers_(&numbers) {}
  ~NumberInUse() {
    if (numbers_ != nullptr) numbers_->count_deleted();
  }
  NumberInUse(const NumberInUse&) = delete;
  NumberInUse& operator=(const NumberInUse&) = delete;

  void keep() { numbers_ = nullptr; }

 private:
  InodeNumbers* numbers_;
};

}  // namespace

Result<void> FilesystemState::check_new_name(std::string_view name) {
  if (name.size() > kMaxName)
    return Error{ErrorCode::kNameTooLong, "a name of " + std::to_string(name.size()) + " bytes"};
  if (!is_valid_name(name)) return Error{ErrorCode::kInvalidArgument, "'" + std::string(name) + "' cannot be a name"};
  return {};
}

Result<InodePtr> FilesystemState::get_directory(InodeNumber number) {
  DEDUPFS_ASSIGN(InodePtr inode, table.get(number));
  const std::lock_guard lock(inode->mutex);
  if (!is_directory(inode->record.attributes.mode))
    return Error{ErrorCode::kNotDirectory, "inode " + std::to_string(number) + " is not a directory"};
  return inode;
}

// What is above the root of a snapshot is in no record.
InodeNumber FilesystemState::parent_of(Inode& directory) {
  if (tree_of(directory.number) != kLiveTree && inode_of(directory.number) == kRootInode) return kSnapshotsInode;
  const std::lock_guard lock(directory.mutex);
  return directory.record.attributes.parent;
}

Result<std::optional<Dirent>> FilesystemState::find_entry(InodeNumber parent, std::string_view name) {
  DEDUPFS_ASSIGN(const std::optional<std::string> value,
                 metadata.get(Family::kDirents, encode_dirent_key(parent, name)));
  if (!value) return std::nullopt;
  DEDUPFS_ASSIGN(const Dirent entry, decode_dirent(parent, *value));
  return entry;
}

Result<InodePtr> FilesystemState::get_target(InodeNumber parent, std::string_view name, const Dirent& entry) {
  Result<InodePtr> inode = table.get(entry.inode);
  if (!inode && inode.error().code() == ErrorCode::kStale)
    return Error{ErrorCode::kCorruption,
                 "'" + std::string(name) + "' in directory " + std::to_string(parent) + ": " + inode.error().message()};
  return inode;
}

// A directory that was removed while somebody has it as working directory takes no new names. Nor does one whose numbers have come
// to their end, which only a damaged record can say: telldir() has no greater ones.
Result<void> FilesystemState::check_takes_names(Inode& directory) {
  Attributes& attributes = directory.record.attributes;
  if (attributes.links == 0)
    return Error{ErrorCode::kNotFound, "directory " + std::to_string(directory.number) + " was removed"};
  if (!directory.has_free_cookies) {
    // Bounded by what should be free, so that it costs next to nothing.
    DEDUPFS_ASSIGN(const auto last,
                   metadata.find_at_or_before(Family::kCookies, encode_cookie_key(directory.number, UINT64_MAX),
                                              encode_cookie_key(directory.number, attributes.next_cookie)));
    if (last) {
      DEDUPFS_ASSIGN(const CookieKey taken, decode_cookie_key(last->first));
      spdlog::warn("directory {}: its next entry was to be number {}, but number {} is there", directory.number,
                   attributes.next_cookie, taken.cookie);
      attributes.next_cookie = std::min(taken.cookie, kLastCookie) + 1;
    }
    directory.has_free_cookies = true;
  }
  if (attributes.next_cookie <= kLastCookie && attributes.size <= kMaxFileBytes - kDirectoryEntryBytes) return {};
  return Error{ErrorCode::kCorruption, "directory " + std::to_string(directory.number) +
                                           ": its record is damaged; unmount and run fsck.dedupfs -y"};
}

Result<bool> FilesystemState::is_empty_directory(InodeNumber directory) {
  DEDUPFS_ASSIGN(const std::vector<KeyValue> first,
                 metadata.list(Family::kCookies, encode_inode_key(directory), encode_key_behind(directory), 1));
  return first.empty();
}

Result<InodeNumber> FilesystemState::read_parent(InodeNumber directory) {
  DEDUPFS_ASSIGN(const std::optional<std::string> value, metadata.get(Family::kInodes, encode_inode_key(directory)));
  if (!value) return Error{ErrorCode::kStale, "inode " + std::to_string(directory) + " does not exist"};
  DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(directory, *value));
  if (!is_directory(record.attributes.mode))
    return Error{ErrorCode::kNotDirectory, "inode " + std::to_string(directory) + " is not a directory"};
  return record.attributes.parent;
}

void FilesystemState::put_entry(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie) {
  const std::uint32_t type = type_bits(target.record.attributes.mode);
  metadata.put(Family::kDirents, encode_dirent_key(directory.number, name),
               encode_dirent({target.number, type, cookie}));
  metadata.put(Family::kCookies, encode_cookie_key(directory.number, cookie),
               encode_cookie_entry({target.number, type, std::string(name)}));
}

void FilesystemState::add_entry(Inode& directory, std::string_view name, const Inode& target) {
  add_entry(directory, name, target, directory.record.attributes.next_cookie++);
}

void FilesystemState::add_entry(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie) {
  put_entry(directory, name, target, cookie);
  directory.record.attributes.size += kDirectoryEntryBytes;
}

void FilesystemState::remove_entry(Inode& directory, std::string_view name, const Dirent& entry) {
  metadata.erase(Family::kDirents, encode_dirent_key(directory.number, name));
  metadata.erase(Family::kCookies, encode_cookie_key(directory.number, entry.cookie));
  std::uint64_t& size = directory.record.attributes.size;
  size -= std::min(size, kDirectoryEntryBytes);
}

void FilesystemState::drop_link(const InodePtr& inode, const Timestamp& now) {
  Attributes& attributes = inode->record.attributes;
  if (is_directory(attributes.mode)) {
    attributes.links = 0;
  } else if (attributes.links > 0) {
    --attributes.links;
  }
  attributes.ctime = now;
  put_record(*inode);
  if (attributes.links != 0) return;
  metadata.put(Family::kOrphans, encode_inode_key(inode->number), {});
  if (table.mark_orphan(inode->number)) doom(inode->number);
}

void FilesystemState::doom(InodeNumber number) {
  if (const InodePtr inode = table.find_in_memory(number)) inode->unlinked = true;
  orphan_reaper->push(number);
  if (committer) committer->request_background_step();
}

Result<Attributes> FilesystemState::reference_by_number(InodeNumber number) {
  if (hides_snapshots() && (tree_of(number) != kLiveTree || number == kSnapshotsInode))
    return Error{ErrorCode::kStale, "the snapshots are hidden by -o snapshots=hidden"};
  DEDUPFS_ASSIGN(const InodePtr inode, table.get(number));
  const std::lock_guard lock(inode->mutex);
  if (inode->record.attributes.links != 0) {
    table.reference(number, 1);
  } else if (!table.reference_if_held(number)) {
    return Error{ErrorCode::kStale, "inode " + std::to_string(number) + " was deleted"};
  }
  return attributes_of(*inode);
}

Result<Attributes> Filesystem::lookup(InodeNumber parent, std::string_view name) {
  FilesystemState& state = *state_;
  if (name == ".") return state.reference_by_number(parent);
  DEDUPFS_ASSIGN(const InodePtr directory, state.get_directory(parent));
  if (name == "..") {
    return state.reference_by_number(FilesystemState::parent_of(*directory));
  }
  DEDUPFS_TRY(FilesystemState::check_new_name(name));
  if (parent == kSnapshotsInode) return state.lookup_snapshot(name);

  // Held until the reference counts: an unlink beside it must not find the inode without a holder.
  const NameLocks::Shared lock = state.names.lock_shared(parent);
  DEDUPFS_ASSIGN(const std::optional<Dirent> entry, state.find_entry(parent, name));
  if (!entry && is_snapshots_entry(parent, name) && !state.hides_snapshots())
    return state.reference_by_number(kSnapshotsInode);
  if (!entry) return not_found(parent, name);
  DEDUPFS_ASSIGN(const InodePtr inode, state.get_target(parent, name, *entry));
  const std::lock_guard inode_lock(inode->mutex);
  state.table.reference(inode->number, 1);
  inode->last_parent = parent;
  inode->last_name = name;
  return FilesystemState::attributes_of(*inode);
}

void Filesystem::forget(InodeNumber inode, std::uint64_t count) {
  if (state_->table.forget(inode, count)) state_->doom(inode);
}

Result<InodePtr> FilesystemState::add_inode(Inode& directory, InodeRecord record, const Caller& caller,
                                            const Timestamp& now) {
  Attributes& attributes = record.attributes;
  const Attributes& above = directory.record.attributes;
  attributes.uid = caller.uid;
  attributes.gid = (above.mode & S_ISGID) != 0 ? above.gid : caller.gid;
  attributes.atime = attributes.mtime = attributes.ctime = attributes.btime = now;
  attributes.links = 1;
  if (is_directory(attributes.mode)) {
    attributes.mode |= above.mode & S_ISGID;
    attributes.links = 2;
    attributes.parent = directory.number;
    attributes.next_cookie = kFirstCookie;
  }
  Inode created(numbers->allocate());
  NumberInUse number_in_use(*numbers);
  attributes.inode = created.number;
  created.record = std::move(record);
  DEDUPFS_TRY(inherit_acls(directory, created, caller));
  put_record(created);
  number_in_use.keep();
  return table.add(created.record);
}

Result<Attributes> FilesystemState::make(InodeNumber parent, std::string_view name, InodeRecord record,
                                         const Caller& caller) {
  DEDUPFS_TRY(check_writable(parent));
  DEDUPFS_TRY(check_new_name(name));
  DEDUPFS_TRY(space.admit_metadata());
  const Change change(*this);
  const NameLocks::Exclusive name_lock(names, {parent});
  DEDUPFS_ASSIGN(const InodePtr directory, get_directory(parent));
  const InodeLocks directory_lock({directory.get()});
  DEDUPFS_TRY(check_takes_names(*directory));
  const bool makes_directory = is_directory(record.attributes.mode);
  if (makes_directory) DEDUPFS_TRY(check_takes_subdirectory(*directory));
  DEDUPFS_ASSIGN(const std::optional<Dirent> existing, find_entry(parent, name));
  if (existing || is_snapshots_entry(parent, name)) return exists(name);

  const Timestamp now = Timestamp::now();
  DEDUPFS_ASSIGN(const InodePtr inode, add_inode(*directory, std::move(record), caller, now));
  add_entry(*directory, name, *inode);
  if (makes_directory) add_subdirectory(directory->record.attributes);
  touch(*directory, now);
  put_record(*directory);

  table.reference(inode->number, 1);
  const std::lock_guard inode_lock(inode->mutex);
  inode->last_parent = parent;
  inode->last_name = name;
  return attributes_of(*inode);
}

Result<Attributes> Filesystem::create(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                      const Caller& caller) {
  return make_node(parent, name, S_IFREG | (mode & kPermissionBits), 0, caller);
}

Result<Attributes> Filesystem::make_node(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                         std::uint64_t device, const Caller& caller) {
  if (type_bits(mode) == 0) mode |= S_IFREG;
  if (!is_known_type(mode) || is_directory(mode) || is_symlink(mode))
    return Error{ErrorCode::kInvalidArgument, "mknod cannot make an object of this type"};
  InodeRecord record;
  record.attributes.mode = type_bits(mode) | (mode & kPermissionBits);
  if (is_device(mode)) record.attributes.device = device;
  return state_->make(parent, name, std::move(record), caller);
}

Result<Attributes> Filesystem::make_directory(InodeNumber parent, std::string_view name, std::uint32_t mode,
                                              const Caller& caller) {
  InodeRecord record;
  record.attributes.mode = S_IFDIR | (mode & kPermissionBits);
  return state_->make(parent, name, std::move(record), caller);
}

Result<Attributes> Filesystem::make_symlink(InodeNumber parent, std::string_view name, std::string_view target,
                                            const Caller& caller) {
  if (target.empty()) return Error{ErrorCode::kNotFound, "a symbolic link to nothing"};
  if (target.size() > kMaxSymlink) return Error{ErrorCode::kNameTooLong, "the target of a symbolic link"};
  if (target.find('\0') != std::string_view::npos)
    return Error{ErrorCode::kInvalidArgument, "NUL in the target of a symbolic link"};
  InodeRecord record;
  record.attributes.mode = S_IFLNK | 0777;
  record.attributes.size = target.size();
  record.symlink_target = target;
  return state_->make(parent, name, std::move(record), caller);
}

Result<std::string> Filesystem::read_symlink(InodeNumber number) {
  DEDUPFS_ASSIGN(const InodePtr inode, state_->table.get(number));
  std::string target;
  {
    const std::lock_guard lock(inode->mutex);
    if (!is_symlink(inode->record.attributes.mode))
      return Error{ErrorCode::kInvalidArgument, "inode " + std::to_string(number) + " is not a symbolic link"};
    target = inode->record.symlink_target;
  }
  state_->note_access(inode);
  return target;
}

Result<Attributes> Filesystem::make_link(InodeNumber number, InodeNumber parent, std::string_view name) {
  FilesystemState& state = *state_;
  DEDUPFS_TRY(state.check_writable(parent));
  DEDUPFS_TRY(state.check_writable(number));
  DEDUPFS_TRY(FilesystemState::check_new_name(name));
  DEDUPFS_TRY(state.space.admit_metadata());
  const FilesystemState::Change change(state);
  const NameLocks::Exclusive name_lock(state.names, {parent});
  DEDUPFS_ASSIGN(const InodePtr directory, state.get_directory(parent));
  DEDUPFS_ASSIGN(const InodePtr inode, state.table.get(number));
  const InodeLocks inode_locks({directory.get(), inode.get()});
  Attributes& attributes = inode->record.attributes;
  if (is_directory(attributes.mode)) return Error{ErrorCode::kNotPermitted, "a hard link to a directory"};
  DEDUPFS_TRY(state.check_takes_names(*directory));
  if (attributes.links == 0) return Error{ErrorCode::kNotFound, "inode " + std::to_string(number) + " was deleted"};
  if (attributes.links >= kMaxLinks)
    return Error{ErrorCode::kTooManyLinks, "inode " + std::to_string(number) + " has too many links"};
  DEDUPFS_ASSIGN(const std::optional<Dirent> existing, state.find_entry(parent, name));
  if (existing || is_snapshots_entry(parent, name)) return exists(name);

  const Timestamp now = Timestamp::now();
  state.add_entry(*directory, name, *inode);
  ++attributes.links;
  attributes.ctime = now;
  state.put_record(*inode);
  touch(*directory, now);
  state.put_record(*directory);
  state.table.reference(number, 1);
  return FilesystemState::attributes_of(*inode);
}

Result<void> Filesystem::unlink(InodeNumber parent, std::string_view name) {
  FilesystemState& state = *state_;
  DEDUPFS_TRY(state.check_writable(parent));
  DEDUPFS_TRY(FilesystemState::check_new_name(name));
  const FilesystemState::Change change(state);
  const NameLocks::Exclusive name_lock(state.names, {parent});
  DEDUPFS_ASSIGN(const InodePtr directory, state.get_directory(parent));
  DEDUPFS_ASSIGN(const std::optional<Dirent> entry, state.find_entry(parent, name));
  if (!entry) return not_removable(parent, name);
  DEDUPFS_ASSIGN(const InodePtr inode, state.get_target(parent, name, *entry));
  const InodeLocks inode_locks({directory.get(), inode.get()});
  if (is_directory(inode->record.attributes.mode))
    return Error{ErrorCode::kIsDirectory, "'" + std::string(name) + "' is a directory"};

  const Timestamp now = Timestamp::now();
  state.remove_entry(*directory, name, *entry);
  touch(*directory, now);
  state.put_record(*directory);
  state.drop_link(inode, now);
  return {};
}

Result<void> Filesystem::remove_directory(InodeNumber parent, std::string_view name) {
  FilesystemState& state = *state_;
  DEDUPFS_TRY(state.check_writable(parent));
  DEDUPFS_TRY(FilesystemState::check_new_name(name));
  const FilesystemState::Change change(state);
  const NameLocks::Exclusive name_lock(state.names, {parent});
  DEDUPFS_ASSIGN(const InodePtr directory, state.get_directory(parent));
  DEDUPFS_ASSIGN(const std::optional<Dirent> entry, state.find_entry(parent, name));
  if (!entry) return not_removable(parent, name);
  DEDUPFS_ASSIGN(const InodePtr child, state.get_target(parent, name, *entry));
  const InodeLocks inode_locks({directory.get(), child.get()});
  if (!is_directory(child->record.attributes.mode))
    return Error{ErrorCode::kNotDirectory, "'" + std::string(name) + "' is not a directory"};
  DEDUPFS_ASSIGN(const bool empty, state.is_empty_directory(child->number));
  if (!empty) return Error{ErrorCode::kNotEmpty, "'" + std::string(name) + "' has entries"};

  const Timestamp now = Timestamp::now();
  state.remove_entry(*directory, name, *entry);
  drop_subdirectory(directory->record.attributes);
  touch(*directory, now);
  state.put_record(*directory);
  state.drop_link(child, now);
  return {};
}

}  // namespace dedupfs
