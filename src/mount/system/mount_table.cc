#include "mount/system/mount_table.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <charconv>
#include <string_view>
#include <system_error>

#include "mount/system/in_time.h"
#include "mount/system/libmount_handles.h"
#include "store/format/format.h"

namespace dedupfs {

namespace {

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

// The user of a FUSE mount, from the options of the filesystem itself.
std::optional<uid_t> user_in(const char* options) {
  char* text = nullptr;
  std::size_t length = 0;
  if (options == nullptr || mnt_optstr_get_option(options, "user_id", &text, &length) != 0) return std::nullopt;
  uid_t user = 0;
  if (std::from_chars(text, text + length, user).ec != std::errc()) return std::nullopt;
  return user;
}

std::vector<MountEntry> entries_of(libmnt_table& table) {
  std::vector<MountEntry> entries;
  const MountIterator iterator(mnt_new_iter(MNT_ITER_FORWARD));
  libmnt_fs* mount = nullptr;
  while (iterator && mnt_table_next_fs(&table, iterator.get(), &mount) == 0) {
    const dev_t device = mnt_fs_get_devno(mount);
    entries.push_back({.device = fmt::format("{}:{}", major(device), minor(device)),
                       .mountpoint = text_of(mnt_fs_get_target(mount)),
                       .type = text_of(mnt_fs_get_fstype(mount)),
                       .source = text_of(mnt_fs_get_source(mount)),
                       .mount_options = text_of(mnt_fs_get_vfs_options(mount)),
                       .user = user_in(mnt_fs_get_fs_options(mount))});
  }
  return entries;
}

// The target of a path.
struct FoundVolume {
  Path volume;
  Path whole;            // what names all of it; a mountpoint, if it is mounted
  bool is_part = false;  // the path lies below
};

Error not_credible(const MountEntry& entry) {
  return {ErrorCode::kAccessDenied, fmt::format("user {1} mounted {0} as the volume {2}, but does not own that volume",
                                                entry.mountpoint.string(), entry.user.value_or(0), entry.source)};
}

// A folder that may not be looked into could be a volume.
bool says_that_none_is_there(const Error& error) {
  return error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kNotDirectory;
}

Result<FoundVolume> locate(const Path& given) {
  DEDUPFS_ASSIGN(const Path path, canonical_in_time(given));
  const auto superblock = stat_in_time(path / kSuperblockFile);
  if (superblock) return FoundVolume{.volume = path, .whole = path};
  if (superblock.error().code() == ErrorCode::kInterrupted) return superblock.error();
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  const auto entry = find_dedupfs_mount_above(table, path);
  if (!entry && !says_that_none_is_there(superblock.error())) return superblock.error();
  if (!entry)
    return Error{ErrorCode::kNotFound, given.string() + " is not a dedupfs volume, and not a path in a mounted one"};
  if (!is_credible(*entry)) return not_credible(*entry);
  if (entry->is_in_bucket())
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{0} shows the volume at {1}, which is in no folder of this machine: to work on it, make a "
                    "volume of it with dedupfs-remote clone",
                    entry->mountpoint.string(), entry->source)};
  const bool is_whole = path == entry->mountpoint || path == entry->source;
  return FoundVolume{.volume = entry->source, .whole = entry->mountpoint, .is_part = !is_whole};
}

}  // namespace

bool MountEntry::is_read_only() const {
  char* text = nullptr;
  std::size_t length = 0;
  return mnt_optstr_get_option(mount_options.c_str(), "ro", &text, &length) == 0;
}

Result<std::vector<MountEntry>> read_mount_table(const char* mountinfo) {
  const MountTable table(mnt_new_table());
  if (!table || mnt_table_parse_file(table.get(), mountinfo) != 0)
    return Error{ErrorCode::kIo, fmt::format("cannot read {}", mountinfo)};
  return entries_of(*table);
}

bool is_same_mount(const MountEntry& one, const MountEntry& other) {
  return one.device == other.device && one.type == other.type && one.source == other.source;
}

bool is_credible(const MountEntry& entry) {
  if (!entry.user || *entry.user == 0 || *entry.user == ::geteuid()) return true;
  const auto status = stat_in_time(entry.source);  // a user may have chosen a filesystem that never answers
  return status && status->st_uid == *entry.user;
}

std::optional<MountEntry> find_dedupfs_mount(const std::vector<MountEntry>& table, const Path& path) {
  // From the last one back; not by std::views::reverse, which Clang 14 does not compile with this standard library.
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->mountpoint != path && entry->source != path) continue;
    if (entry->type == kMountType && (entry->mountpoint == path || is_credible(*entry))) return *entry;
    if (entry->mountpoint == path) return std::nullopt;  // something else is mounted on top
  }
  return std::nullopt;
}

std::optional<MountEntry> find_dedupfs_mount_above(const std::vector<MountEntry>& table, const Path& path) {
  for (Path above = path;; above = above.parent_path()) {
    if (auto entry = find_dedupfs_mount(table, above)) return entry;
    if (above == above.root_path()) return std::nullopt;
  }
}

Result<MountEntry> get_dedupfs_mount(const std::vector<MountEntry>& table, dev_t device) {
  const std::string number = std::to_string(major(device)) + ':' + std::to_string(minor(device));
  for (const MountEntry& entry : table) {
    if (entry.device != number || entry.type != kMountType) continue;
    if (!is_credible(entry)) return not_credible(entry);
    return entry;
  }
  return Error{ErrorCode::kInvalidArgument, "it is not in a mounted dedupfs volume"};
}

Result<Path> find_volume(const Path& given) {
  DEDUPFS_ASSIGN(FoundVolume found, locate(given));
  return std::move(found.volume);
}

Result<Path> find_whole_volume(const Path& given) {
  DEDUPFS_ASSIGN(FoundVolume found, locate(given));
  if (!found.is_part) return std::move(found.volume);
  return Error{ErrorCode::kNotFound,
               fmt::format("{} is only a part of a dedupfs volume: give the mount point of the whole volume, {}",
                           given.string(), found.whole.string())};
}

Result<Path> canonical_mountpoint(const Path& path) {
  std::error_code error;
  Path absolute = std::filesystem::absolute(path, error);
  if (!error && !absolute.has_filename()) absolute = absolute.parent_path();
  const Path last = absolute.filename();
  if (error || last == "." || last == "..") return canonical_in_time(path);
  DEDUPFS_ASSIGN(Path parent, canonical_in_time(absolute.parent_path()));
  if (last.empty()) return parent;
  // Unlike lstat(2), readlink(2) does not access the mounted filesystem. std::filesystem::read_symlink() calls lstat(2).
  char target = 0;
  if (::readlink((parent / last).c_str(), &target, 1) >= 0) return canonical_in_time(path);
  return parent / last;
}

}  // namespace dedupfs
