#include "fs/mount_table.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <sstream>
#include <system_error>

#include "store/format.h"

namespace dedupfs {

namespace {

constexpr std::string_view kType = "fuse.dedupfs";

// The kernel writes space, tab, newline and backslash as three octal digits.
std::string unescaped(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

// "ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [FIELD...] - TYPE SOURCE SUPER_OPTIONS", see proc(5).
std::optional<MountEntry> parse_line(const std::string& line) {
  std::istringstream fields(line);
  std::string id, parent, root, mountpoint, skipped, source;
  MountEntry entry;
  fields >> id >> parent >> entry.device >> root >> mountpoint >> entry.mount_options;
  while (fields >> skipped && skipped != "-") continue;
  if (!(fields >> entry.type >> source)) return std::nullopt;
  entry.mountpoint = unescaped(mountpoint);
  entry.source = unescaped(source);
  return entry;
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

std::vector<MountEntry> parse_mount_table(std::string_view mountinfo) {
  std::vector<MountEntry> table;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    if (auto entry = parse_line(line)) table.push_back(std::move(*entry));
  }
  return table;
}

Result<std::vector<MountEntry>> read_mount_table() {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Error{ErrorCode::kIo, "cannot read /proc/self/mountinfo"};
  return parse_mount_table(text.str());
}

std::optional<MountEntry> find_dedupfs_mount(const std::vector<MountEntry>& table, const Path& path) {
  // From the last one back; not by std::views::reverse, which Clang 14 does not compile with this standard library.
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->mountpoint != path && entry->source != path) continue;
    if (entry->type == kType) return *entry;
    if (entry->mountpoint == path) return std::nullopt;  // something else is mounted on top
  }
  return std::nullopt;
}

std::optional<MountEntry> find_dedupfs_mount(const std::vector<MountEntry>& table, dev_t device) {
  const std::string number = std::to_string(major(device)) + ':' + std::to_string(minor(device));
  for (const MountEntry& entry : table)
    if (entry.device == number && entry.type == kType) return entry;
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
  // readlink(2), unlike lstat(2), does not ask what is mounted there.
  std::error_code ignored;
  const bool is_link = !std::filesystem::read_symlink(absolute, ignored).empty();
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
