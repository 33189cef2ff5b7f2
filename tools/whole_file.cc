#include "whole_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "base/write_all.h"

namespace dedupfs::tools {
namespace {

Result<void> move_there(int descriptor, const std::string& from, const Path& file, std::string_view content,
                        mode_t mode) {
  if (!write_all(descriptor, content)) return Error::from_errno(errno, "write");
  if (::fchmod(descriptor, mode) != 0 || ::rename(from.c_str(), file.c_str()) != 0)
    return Error::from_errno(errno, "rename");
  return {};
}

Result<void> make_anew(const Path& file, std::string_view content, mode_t mode) {
  std::string temporary = file.string() + ".XXXXXX";
  const UniqueFd descriptor(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!descriptor) return Error::from_errno(errno, file.string());
  const Result<void> moved = move_there(descriptor.get(), temporary, file, content, mode);
  if (moved) return {};
  ::unlink(temporary.c_str());
  return moved.error().with(file.string());
}

Result<void> write_into(const Path& file, std::string_view content) {
  const UniqueFd descriptor(::open(file.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC));
  if (!descriptor || !write_all(descriptor.get(), content)) return Error::from_errno(errno, file.string());
  return {};
}

// /dev/fd/3, /dev/stdout: whoever opened it holds what it leads to, not a name.
bool leads_to_descriptor(Path link) {
  constexpr int kMaxLinks = 40;  // as Linux has it
  std::error_code error;
  for (int links = 0; links < kMaxLinks && !error; ++links) {
    const Path folder = link.has_parent_path() ? link.parent_path() : Path(".");
    struct statfs disk {};
    if (::statfs(folder.c_str(), &disk) == 0 && disk.f_type == PROC_SUPER_MAGIC) return true;
    link = folder / std::filesystem::read_symlink(link, error);
  }
  return false;
}

// The name of the file at the end of a link; none if no regular file is there. The kernel follows the link, since it refuses one that
// somebody else has put into a folder such as /tmp.
Result<std::optional<Path>> end_of(const Path& link, mode_t mode) {
  UniqueFd end(::open(link.c_str(), O_PATH | O_CLOEXEC));
  if (!end && errno == ENOENT) end = UniqueFd(::open(link.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode));
  struct stat status {};
  if (!end || ::fstat(end.get(), &status) != 0) return Error::from_errno(errno, link.string());
  if (!S_ISREG(status.st_mode)) return std::optional<Path>();
  std::error_code error;
  Path file = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(end.get()), error);
  if (error) return Error::from_errno(error.value(), link.string());
  return std::optional(std::move(file));
}

// The name that gets a new file; none: what is there is written into.
Result<std::optional<Path>> name_for_new_file(const Path& file, mode_t mode) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) {
    if (errno != ENOENT) return Error::from_errno(errno, file.string());
    return std::optional(file);
  }
  if (S_ISREG(status.st_mode)) return std::optional(file);
  if (!S_ISLNK(status.st_mode) || leads_to_descriptor(file)) return std::optional<Path>();
  return end_of(file, mode);
}

}  // namespace

Result<void> replace_whole_file(const Path& file, std::string_view content, FileReaders readers) {
  const mode_t mode = readers == FileReaders::kOwner ? 0600 : 0644;
  DEDUPFS_ASSIGN(const std::optional<Path> name, name_for_new_file(file, mode));
  return name ? make_anew(*name, content, mode) : write_into(file, content);
}

}  // namespace dedupfs::tools
