#include "fs/estimate/source_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

namespace dedupfs {
namespace {

constexpr std::size_t kMaxExtents = 1 << 16;
constexpr std::uint64_t kStatusBlock = 512;  // of st_blocks
constexpr std::size_t kNamesBetweenQuestions = 1024;

// What cannot be listed is told to the visitor, and has no names. An Error: the walk is to end.
Result<std::vector<std::string>> names_in(int folder, const Path& path, SourceVisitor& visitor) {
  std::vector<std::string> names;
  const auto unreadable = [&](const Error& error) {
    visitor.note_unreadable(error);
    return std::vector<std::string>();
  };
  UniqueFd fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return unreadable(Error::from_errno(errno, path.string()));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.get()), ::closedir);
  if (directory == nullptr) return unreadable(Error::from_errno(errno, path.string()));
  fd.release();  // it is closed with the list
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    names.emplace_back(name);
    if (names.size() % kNamesBetweenQuestions == 0) DEDUPFS_TRY(visitor.go_on());
  }
  if (errno != 0) return unreadable(Error::from_errno(errno, "listing " + path.string()));
  std::ranges::sort(names);
  return names;
}

// What listxattr(2) and getxattr(2) give, whose results may grow meanwhile. Empty if they fail.
template <class Call>
std::string xattr_text(const Call& call) {
  const ssize_t length = call(nullptr, 0);
  if (length <= 0) return {};
  std::string text(static_cast<std::size_t>(length), '\0');
  const ssize_t got = call(text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

}  // namespace

std::vector<SourceXattr> xattrs_of(const Path& path, bool follows_link) {
  const std::string names = xattr_text([&](char* out, std::size_t size) {
    return follows_link ? ::listxattr(path.c_str(), out, size) : ::llistxattr(path.c_str(), out, size);
  });
  std::vector<SourceXattr> found;
  for (std::size_t begin = 0; begin < names.size();) {
    const std::string name = names.c_str() + begin;
    begin += name.size() + 1;
    std::string value = xattr_text([&](char* out, std::size_t size) {
      return follows_link ? ::getxattr(path.c_str(), name.c_str(), out, size)
                          : ::lgetxattr(path.c_str(), name.c_str(), out, size);
    });
    found.push_back({name, std::move(value)});
  }
  return found;
}

// Only of large files it is worth a look whether they have holes.
std::uint64_t SourceTree::data_bytes_of(const SourceEntry& entry) const {
  constexpr std::uint64_t kWorthALookBytes = 1 << 20;
  const auto size = static_cast<std::uint64_t>(entry.status.st_size);
  if (size < kWorthALookBytes || static_cast<std::uint64_t>(entry.status.st_blocks) * 512 >= size) return size;
  const auto file = SourceFile::open(path_of(entry.root, entry.relative_path()), entry.depth == 0);
  return file ? file->data_bytes() : size;  // who reads it later will say that it cannot be read
}

Result<void> SourceTree::walk(SourceVisitor& visitor) const {
  for (std::size_t root = 0; root < settings_.roots.size(); ++root) DEDUPFS_TRY(walk_root(root, visitor));
  return {};
}

Result<void> SourceTree::walk_root(std::size_t root, SourceVisitor& visitor) const {
  const Path& path = settings_.roots[root];
  SourceEntry entry{.root = root};
  if (::stat(path.c_str(), &entry.status) != 0) return Error::from_errno(errno, path.string());
  DEDUPFS_TRY(visitor.visit(entry));
  return S_ISDIR(entry.status.st_mode) ? walk_folder(entry, path, visitor) : Result<void>();
}

Result<void> SourceTree::walk_folder(const SourceEntry& folder, const Path& path, SourceVisitor& visitor) const {
  std::vector<SourceEntry> folders;
  {
    const int follow = folder.depth == 0 ? 0 : O_NOFOLLOW;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow));
    if (!fd) {
      visitor.note_unreadable(Error::from_errno(errno, path.string()));
      return {};
    }
    DEDUPFS_ASSIGN(const auto names, names_in(fd.get(), path, visitor));
    std::size_t looked_at = 0;
    for (const std::string& name : names) {
      if (++looked_at % kNamesBetweenQuestions == 0) DEDUPFS_TRY(visitor.go_on());
      SourceEntry entry{
          .root = folder.root, .depth = folder.depth + 1, .directory = folder.relative_path(), .name = name};
      if (::fstatat(fd.get(), name.c_str(), &entry.status, AT_SYMLINK_NOFOLLOW) != 0) {
        visitor.note_unreadable(Error::from_errno(errno, (path / name).string()));
        continue;
      }
      if (settings_.one_filesystem && entry.status.st_dev != folder.status.st_dev) continue;
      if (S_ISDIR(entry.status.st_mode))
        folders.push_back(std::move(entry));
      else
        DEDUPFS_TRY(visitor.visit(entry));
    }
  }
  for (const SourceEntry& inner : folders) {
    DEDUPFS_TRY(visitor.visit(inner));
    DEDUPFS_TRY(walk_folder(inner, path / inner.name, visitor));
  }
  return {};
}

Result<SourceFile> SourceFile::open(const Path& path, bool is_root) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (is_root ? 0 : O_NOFOLLOW)));
  if (!fd) return Error::from_errno(errno, path.string());
  SourceFile file(std::move(fd), path.string());
  struct stat status {};
  if (::fstat(file.fd_.get(), &status) != 0) return Error::from_errno(errno, file.path_);
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kInvalidArgument, file.path_ + " is not a regular file"};
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  file.find_extents(static_cast<std::uint64_t>(status.st_blocks) * kStatusBlock < file.size_);
  return file;
}

void SourceFile::find_extents(bool may_have_holes) {
  if (size_ == 0) return;
  std::uint64_t at = 0;
  while (may_have_holes && at < size_ && extents_.size() < kMaxExtents) {
    const off_t data = ::lseek(fd_.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return;  // a hole up to the end
    if (data < 0) break;                     // the disk knows no holes
    const off_t hole = ::lseek(fd_.get(), data, SEEK_HOLE);
    if (hole <= data) break;
    at = std::min(size_, static_cast<std::uint64_t>(hole));
    if (static_cast<std::uint64_t>(data) >= at) return;  // it was cut off meanwhile
    extents_.push_back({static_cast<std::uint64_t>(data), at});
  }
  if (at < size_) extents_.push_back({at, size_});
}

std::uint64_t SourceFile::data_bytes() const {
  std::uint64_t sum = 0;
  for (const Extent& extent : extents_) sum += extent.end - extent.begin;
  return sum;
}

Result<std::size_t> SourceFile::read(std::uint64_t offset, MutableByteSpan out) const {
  for (;;) {
    const ssize_t got = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return Error::from_errno(errno, "reading " + path_);
  }
}

}  // namespace dedupfs
