#include "fs/mount_table.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <charconv>
#include <string_view>
#include <system_error>

#include "fs/libmount_handles.h"
#include "store/format.h"

namespace dedupfs {

namespace {

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

// Of FUSE, from the options of the filesystem itself.
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

// What a path leads to.
struct FoundVolume {
  Path volume;
  Path whole;            // what names all of it; a mountpoint, if it is mounted
  bool is_part = false;  // the path lies below
};

Result<FoundVolume> locate(const Path& given) {
  std::error_code error;
  const Path path = std::filesystem::canonical(given, error);
  if (error) return Error::from_errno(error.value(), given.string());
  if (std::filesystem::exists(path / kSuperblockFile, error)) return FoundVolume{.volume = path, .whole = path};
  DEDUPFS_ASSIGN(const auto table, read_mount_table());
  for (Path above = path;; above = above.parent_path()) {
    if (const auto entry = find_dedupfs_mount(table, above))
      return FoundVolume{.volume = entry->source, .whole = entry->mountpoint, .is_part = above != path};
    if (above == above.root_path()) break;
  }
  return Error{ErrorCode::kNotFound, given.string() + " is neither a dedupfs volume nor in a mounted one"};
}

}  // namespace

Result<std::vector<MountEntry>> read_mount_table(const char* mountinfo) {
  const MountTable table(mnt_new_table());
  if (!table || mnt_table_parse_file(table.get(), mountinfo) != 0)
    return Error{ErrorCode::kIo, fmt::format("cannot read {}", mountinfo)};
  return entries_of(*table);
}

std::optional<MountEntry> find_dedupfs_mount(const std::vector<MountEntry>& table, const Path& path) {
  // From the last one back; not by std::views::reverse, which Clang 14 does not compile with this standard library.
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->mountpoint != path && entry->source != path) continue;
    if (entry->type == kMountType) return *entry;
    if (entry->mountpoint == path) return std::nullopt;  // something else is mounted on top
  }
  return std::nullopt;
}

std::optional<MountEntry> find_dedupfs_mount(const std::vector<MountEntry>& table, dev_t device) {
  const std::string number = std::to_string(major(device)) + ':' + std::to_string(minor(device));
  for (const MountEntry& entry : table)
    if (entry.device == number && entry.type == kMountType) return entry;
  return std::nullopt;
}

Result<Path> find_volume(const Path& given) {
  DEDUPFS_ASSIGN(FoundVolume found, locate(given));
  return std::move(found.volume);
}

Result<Path> find_whole_volume(const Path& given) {
  DEDUPFS_ASSIGN(FoundVolume found, locate(given));
  if (!found.is_part) return std::move(found.volume);
  return Error{ErrorCode::kNotFound,
               fmt::format("{} is only a part of a dedupfs volume, and this is for all of it: give its mount point, {}",
                           given.string(), found.whole.string())};
}

Result<Path> canonical_mountpoint(const Path& path) {
  std::error_code error;
  Path absolute = std::filesystem::absolute(path, error);
  if (!error && !absolute.has_filename()) absolute = absolute.parent_path();
  const Path last = absolute.filename();
  // readlink(2), unlike lstat(2), does not ask what is mounted there, and unlike std::filesystem::read_symlink(), which calls lstat(2).
  char target = 0;
  const bool is_link = ::readlink(absolute.c_str(), &target, 1) >= 0;
  if (error || last == "." || last == ".." || is_link) {
    absolute = std::filesystem::canonical(path, error);
    if (error) return Error::from_errno(error.value(), path.string());
    return absolute;
  }
  const Path parent = std::filesystem::canonical(absolute.parent_path(), error);
  if (error) return Error::from_errno(error.value(), path.string());
  return last.empty() ? parent : parent / last;
}

}  // namespace dedupfs
