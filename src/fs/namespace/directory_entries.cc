#include "fs/namespace/directory_entries.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fs/format/mode.h"
#include "fs/inodes/inode_record.h"

namespace dedupfs {

Result<void> DirectoryEntries::check_new_name(std::string_view name) {
  if (name.size() > kMaxName)
    return Error{ErrorCode::kNameTooLong, "a name of " + std::to_string(name.size()) + " bytes"};
  if (!is_valid_name(name)) return Error{ErrorCode::kInvalidArgument, "'" + std::string(name) + "' cannot be a name"};
  return {};
}

Result<std::optional<Dirent>> DirectoryEntries::find(InodeNumber parent, std::string_view name) const {
  DEDUPFS_ASSIGN(const std::optional<std::string> value,
                 metadata_.get(Family::kDirents, encode_dirent_key(parent, name)));
  if (!value) return std::nullopt;
  DEDUPFS_ASSIGN(const Dirent entry, decode_dirent(parent, *value));
  return entry;
}

Result<InodePtr> DirectoryEntries::target_of(InodeNumber parent, std::string_view name, const Dirent& entry) const {
  Result<InodePtr> inode = table_.get(entry.inode);
  if (!inode && inode.error().code() == ErrorCode::kStale)
    return Error{ErrorCode::kCorruption,
                 "'" + std::string(name) + "' in directory " + std::to_string(parent) + ": " + inode.error().message()};
  return inode;
}

// A removed directory takes no new names; it can still be somebody's working directory. A directory without free cookies takes
// none either: telldir() has no greater numbers. Only a damaged record can use them up.
Result<void> DirectoryEntries::check_takes_names(Inode& directory) const {
  Attributes& attributes = directory.record.attributes;
  if (attributes.links == 0)
    return Error{ErrorCode::kNotFound, "directory " + std::to_string(directory.number) + " was removed"};
  if (!directory.has_free_cookies) {
    // The search covers only cookies that should be free, so it costs next to nothing.
    DEDUPFS_ASSIGN(const auto last,
                   metadata_.find_at_or_before(Family::kCookies, encode_cookie_key(directory.number, UINT64_MAX),
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

Result<bool> DirectoryEntries::is_empty(InodeNumber directory) const {
  DEDUPFS_ASSIGN(const std::vector<KeyValue> first,
                 metadata_.list(Family::kCookies, encode_inode_key(directory), encode_key_behind(directory), 1));
  return first.empty();
}

void DirectoryEntries::put(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie) {
  const std::uint32_t type = type_bits(target.record.attributes.mode);
  metadata_.put(Family::kDirents, encode_dirent_key(directory.number, name),
                encode_dirent({target.number, type, cookie}));
  metadata_.put(Family::kCookies, encode_cookie_key(directory.number, cookie),
                encode_cookie_entry({target.number, type, std::string(name)}));
}

void DirectoryEntries::add(Inode& directory, std::string_view name, const Inode& target) {
  add(directory, name, target, directory.record.attributes.next_cookie++);
}

void DirectoryEntries::add(Inode& directory, std::string_view name, const Inode& target, std::uint64_t cookie) {
  put(directory, name, target, cookie);
  directory.record.attributes.size += kDirectoryEntryBytes;
}

void DirectoryEntries::remove(Inode& directory, std::string_view name, const Dirent& entry) {
  metadata_.erase(Family::kDirents, encode_dirent_key(directory.number, name));
  metadata_.erase(Family::kCookies, encode_cookie_key(directory.number, entry.cookie));
  std::uint64_t& size = directory.record.attributes.size;
  size -= std::min(size, kDirectoryEntryBytes);
}

void DirectoryEntries::note_unnamed(InodeNumber inode) const {
  metadata_.put(Family::kOrphans, encode_inode_key(inode), {});
}

void DirectoryEntries::note_named(InodeNumber inode) const {
  metadata_.erase(Family::kOrphans, encode_inode_key(inode));
}

void DirectoryEntries::drop_link(const InodePtr& inode, const Timestamp& now) {
  Attributes& attributes = inode->record.attributes;
  if (is_directory(attributes.mode)) {
    attributes.links = 0;
  } else if (attributes.links > 0) {
    --attributes.links;
  }
  attributes.ctime = now;
  put_record(metadata_, *inode);
  if (attributes.links != 0) return;
  note_unnamed(inode->number);
  if (table_.mark_orphan(inode->number)) reaper_.note_unlinked(inode->number);
}

}  // namespace dedupfs
