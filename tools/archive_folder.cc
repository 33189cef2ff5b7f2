#include "archive_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace dedupfs::tools {
namespace {

constexpr const char* kMark = "user.dedupfs.archive";
constexpr const char* kStage = ".dedupfs-import";

Result<void> write_mark(const Path& folder, const std::string& value) {
  if (::setxattr(folder.c_str(), kMark, value.data(), value.size(), 0) == 0) return {};
  return Error::from_errno(errno, folder.string());
}

// Folders without permission for their owner are removed, too.
void open_up(const Path& folder) {
  std::error_code ignored;
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, std::filesystem::perm_options::add, ignored);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->symlink_status(ignored).type() == std::filesystem::file_type::directory) open_up(entry->path());
}

}  // namespace

Result<ArchiveFolders> ArchiveFolders::open(const Path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Error::from_errno(errno, folder.string());
  DEDUPFS_ASSIGN(FileLock lock,
                 FileLock::take(std::move(fd), folder, "another import into " + folder.string() + " is running"));
  return ArchiveFolders(folder, std::move(lock));
}

Path ArchiveFolders::stage_path() const {
  return folder_ / kStage;
}

Result<std::optional<ArchiveFolders::Mark>> ArchiveFolders::mark_at(const std::string& name) const {
  const Path path = path_of(name);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::optional<Mark>();
    return Error::from_errno(errno, path.string());
  }
  std::array<char, 1024> value{};
  const ssize_t length = ::lgetxattr(path.c_str(), kMark, value.data(), value.size());
  if (length < 0) return std::optional(Mark());
  const std::string text(value.data(), static_cast<std::size_t>(length));
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return std::optional(Mark{.id = text});
  return std::optional(Mark{.id = text.substr(0, space), .snapshot = text.substr(space + 1)});
}

Result<void> ArchiveFolders::note_snapshot(const std::string& name, const Mark& mark) const {
  return write_mark(path_of(name), mark.id + ' ' + mark.snapshot);
}

Result<void> ArchiveFolders::remove_stage() const {
  const Path path = stage_path();
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return {};
  open_up(path);
  std::filesystem::remove_all(path, error);
  if (error) return Error::from_errno(error.value(), path.string());
  return {};
}

Result<Path> ArchiveFolders::stage() const {
  DEDUPFS_TRY(remove_stage());
  Path path = stage_path();
  if (::mkdir(path.c_str(), 0755) != 0) return Error::from_errno(errno, path.string());
  return path;
}

Result<void> ArchiveFolders::finish(const std::string& name, const std::string& id, std::int64_t unix_seconds) const {
  const Path path = stage_path();
  DEDUPFS_TRY(write_mark(path, id));
  const timespec time{.tv_sec = unix_seconds, .tv_nsec = 0};
  const std::array times = {time, time};
  if (::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) != 0) return Error::from_errno(errno, path.string());
  if (::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, path_of(name).c_str(), RENAME_NOREPLACE) != 0)
    return Error::from_errno(errno, path_of(name).string());
  return {};
}

}  // namespace dedupfs::tools
