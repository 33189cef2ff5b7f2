#include "base/backing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/unique_fd.h"

namespace dedupfs {
namespace {

// A volume on FUSE or NFS may answer EAGAIN to a call that it has not begun: the call is repeated. EAGAIN, which no
// local disk gives for a file, only for a second.
constexpr std::chrono::milliseconds kPause{10};
constexpr int kMaxPauses = 100;

// Returns the last result of `call`, with its errno.
template <class Call>
auto complete(const Call& call) {
  for (int pauses = 0;;) {
    const auto returned = call();
    if (returned >= 0 || (errno != EINTR && errno != EAGAIN)) return returned;
    if (errno == EINTR) continue;
    if (pauses++ == kMaxPauses) return returned;
    std::this_thread::sleep_for(kPause);
  }
}

class PosixFile final : public BackingFile {
 public:
  PosixFile(UniqueFd fd, Path path) : fd_(std::move(fd)), path_(std::move(path)) {}

  const Path& path() const override { return path_; }

  Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t got = complete([&] {
        return ::pread(fd_.get(), out.data() + filled, out.size() - filled, static_cast<off_t>(offset + filled));
      });
      if (got < 0) return Error::from_errno(errno, "reading " + path_.string());
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    return filled;
  }

  Result<void> write(std::uint64_t offset, ByteSpan data) override {
    while (!data.empty()) {
      const ssize_t put =
          complete([&] { return ::pwrite(fd_.get(), data.data(), data.size(), static_cast<off_t>(offset)); });
      if (put < 0) return Error::from_errno(errno, "writing " + path_.string());
      if (put == 0) return Error{ErrorCode::kIo, "writing " + path_.string() + ": the disk accepted none of it"};
      offset += static_cast<std::uint64_t>(put);
      data = data.subspan(static_cast<std::size_t>(put));
    }
    return {};
  }

  Result<void> truncate(std::uint64_t size) override {
    if (complete([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); }) != 0)
      return Error::from_errno(errno, "truncating " + path_.string());
    return {};
  }

  Result<std::uint64_t> size() const override {
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) return Error::from_errno(errno, path_.string());
    return static_cast<std::uint64_t>(status.st_size);
  }

  // Whole pages only are dropped, and none that is not on the disk yet.
  void drop_cached(std::uint64_t offset, std::uint64_t length) const override {
    constexpr std::uint64_t kPage = 64 << 10;  // the largest of any Linux
    const std::uint64_t begin = offset / kPage * kPage;
    const std::uint64_t end = (offset + length + kPage - 1) / kPage * kPage;
    ::posix_fadvise(fd_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin), POSIX_FADV_DONTNEED);
  }

  Result<void> datasync() override {
    if (complete([&] { return ::fdatasync(fd_.get()); }) != 0)
      return Error::from_errno(errno, "fdatasync of " + path_.string());
    return {};
  }

  Result<void> discard(std::uint64_t offset, std::uint64_t length) override {
    const auto punched = complete([&] {
      return ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                         static_cast<off_t>(length));
    });
    if (punched == 0) return {};
    if (errno == EOPNOTSUPP) return BackingFile::discard(offset, length);
    return Error::from_errno(errno, "giving back the room of " + path_.string());
  }

  Result<bool> try_lock(LockMode mode) override {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    const int locked = mode == LockMode::kExclusiveRecord
                           ? ::fcntl(fd_.get(), F_OFD_SETLK, &whole)  // of this open file, not of the process
                           : ::flock(fd_.get(), (mode == LockMode::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB);
    if (locked == 0) return true;
    if (errno == EWOULDBLOCK || errno == EACCES) return false;
    return Error::from_errno(errno, "locking " + path_.string());
  }

 private:
  UniqueFd fd_;
  Path path_;
};

UniqueFd open_directory(int parent, const char* name, int flags) {
  return UniqueFd(complete([&] { return ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags); }));
}

Backing::Status status_from(const struct stat& status) {
  constexpr std::uint64_t kBlock = 512;  // of st_blocks, whatever the disk has
  return {.type = S_ISREG(status.st_mode)   ? Backing::Type::kFile
                  : S_ISDIR(status.st_mode) ? Backing::Type::kDirectory
                                            : Backing::Type::kOther,
          .owner = status.st_uid,
          .group = status.st_gid,
          .permissions = status.st_mode & 07777,
          .allocated_bytes = static_cast<std::uint64_t>(status.st_blocks) * kBlock,
          .modified = status.st_mtim.tv_sec};
}

class PosixFolder final : public BackingFolder {
 public:
  PosixFolder(UniqueFd fd, Path path) : BackingFolder(std::move(path)), fd_(std::move(fd)) {}

  Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override {
    DEDUPFS_ASSIGN(const std::string file, single(name));
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // O_NONBLOCK: a FIFO in a hostile volume must not hang us
    switch (mode) {
      case Mode::kRead: flags |= O_RDONLY; break;
      case Mode::kReadWrite: flags |= O_RDWR; break;
      case Mode::kCreate: flags |= O_RDWR | O_CREAT | O_EXCL; break;
      case Mode::kOpenOrCreate: flags |= O_RDWR | O_CREAT; break;
    }
    UniqueFd fd(complete([&] { return ::openat(fd_.get(), file.c_str(), flags, 0600); }));
    if (!fd && errno == ELOOP) return Error{ErrorCode::kCorruption, where(name) + " is a symbolic link"};
    if (!fd) return Error::from_errno(errno, where(name));
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return Error::from_errno(errno, where(name));
    if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kCorruption, where(name) + " is not a regular file"};
    return std::make_unique<PosixFile>(std::move(fd), path() / name);
  }

  Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) override {
    DEDUPFS_ASSIGN(const std::string folder, single(name));
    UniqueFd fd = open_directory(fd_.get(), folder.c_str(), O_NOFOLLOW);
    if (!fd && (errno == ENOTDIR || errno == ELOOP))
      return Error{ErrorCode::kCorruption, where(name) + " is not a folder"};
    if (!fd) return Error::from_errno(errno, where(name));
    return std::make_shared<PosixFolder>(std::move(fd), path() / name);
  }

  Result<void> make_folder(std::string_view name) override {
    DEDUPFS_ASSIGN(const std::string folder, single(name));
    if (::mkdirat(fd_.get(), folder.c_str(), 0700) != 0)
      return Error::from_errno(errno, "creating directory " + where(name));
    return {};
  }

  Result<void> remove_folder(std::string_view name) override {
    DEDUPFS_ASSIGN(const std::string folder, single(name));
    if (::unlinkat(fd_.get(), folder.c_str(), AT_REMOVEDIR) != 0)
      return Error::from_errno(errno, "removing directory " + where(name));
    return {};
  }

  Result<void> rename(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    DEDUPFS_ASSIGN(const std::string from_name, single(name));
    DEDUPFS_ASSIGN(const std::string to_name, single(new_name));
    if (::renameat(fd_.get(), from_name.c_str(), fd_of(to), to_name.c_str()) != 0)
      return Error::from_errno(errno, "renaming " + where(name) + " to " + (to.path() / new_name).string());
    return {};
  }

  Result<void> link(std::string_view name, BackingFolder& to, std::string_view new_name) override {
    DEDUPFS_ASSIGN(const std::string from_name, single(name));
    DEDUPFS_ASSIGN(const std::string to_name, single(new_name));
    if (::linkat(fd_.get(), from_name.c_str(), fd_of(to), to_name.c_str(), 0) != 0)
      return Error::from_errno(errno, "linking " + where(name) + " to " + (to.path() / new_name).string());
    return {};
  }

  Result<void> unlink(std::string_view name) override {
    DEDUPFS_ASSIGN(const std::string file, single(name));
    if (::unlinkat(fd_.get(), file.c_str(), 0) != 0) return Error::from_errno(errno, "removing " + where(name));
    return {};
  }

  Result<void> sync() override {
    if (complete([&] { return ::fsync(fd_.get()); }) != 0)
      return Error::from_errno(errno, "fsync of " + path().string());
    return {};
  }

  // By a descriptor of its own, since each descriptor has one position in the list.
  Result<std::vector<std::string>> list() override {
    UniqueFd fd = open_directory(fd_.get(), ".", 0);
    if (!fd) return Error::from_errno(errno, path().string());
    DIR* const directory = ::fdopendir(fd.get());
    if (directory == nullptr) return Error::from_errno(errno, path().string());
    fd.release();  // it is closed with the list
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    const int failure = errno;
    ::closedir(directory);
    if (failure != 0) return Error::from_errno(failure, "listing " + path().string());
    std::ranges::sort(names);
    return names;
  }

  Result<Status> status() override {
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) return Error::from_errno(errno, path().string());
    return status_from(status);
  }

  Result<Status> status(std::string_view name) override {
    DEDUPFS_ASSIGN(const std::string file, single(name));
    struct stat status {};
    if (::fstatat(fd_.get(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return status_from(status);
    if (errno == ENOENT) return Status();
    return Error::from_errno(errno, where(name));
  }

  std::optional<int> descriptor() const override { return fd_.get(); }

  Result<Space> space() override {
    struct statvfs status {};
    if (::fstatvfs(fd_.get(), &status) != 0) return Error::from_errno(errno, path().string());
    return Space{status.f_frsize * status.f_blocks, status.f_frsize * status.f_bavail};
  }

 private:
  std::string where(std::string_view name) const { return (path() / name).string(); }
  static int fd_of(const BackingFolder& folder) { return static_cast<const PosixFolder&>(folder).fd_.get(); }

  const UniqueFd fd_;
};

class PosixBacking final : public Backing {
 public:
  Result<std::shared_ptr<BackingFolder>> open_root(const Path& path) override {
    if (path.empty()) return invalid_argument("an empty path names no folder");
    UniqueFd fd = open_directory(AT_FDCWD, path.c_str(), 0);
    if (!fd && errno == ENOENT) return Error{ErrorCode::kNotFound, path.string() + " does not exist"};
    if (!fd) return Error::from_errno(errno, path.string());
    return std::make_shared<PosixFolder>(std::move(fd), whole_path(path));
  }
};

// RocksDB makes a folder within the one of the index at most.
constexpr int kDeepestTree = 8;

Result<void> remove_tree(BackingFolder& folder, std::string_view name, int depth) {
  DEDUPFS_ASSIGN(const Backing::Type type, folder.type(name));
  if (type == Backing::Type::kMissing) return {};
  if (type != Backing::Type::kDirectory) return folder.unlink(name);
  if (depth == 0)
    return Error{ErrorCode::kCorruption,
                 (folder.path() / name).string() + " does not belong to a volume: remove it by hand, then try again"};
  {
    DEDUPFS_ASSIGN(const auto inner, folder.open_folder(name));
    DEDUPFS_ASSIGN(const std::vector<std::string> names, inner->list());
    for (const std::string& each : names) DEDUPFS_TRY(remove_tree(*inner, each, depth - 1));
  }
  return folder.remove_folder(name);
}

}  // namespace

Path whole_path(const Path& path) {
  std::error_code error;
  const Path absolute = std::filesystem::absolute(path / "", error);
  if (!error) return absolute.lexically_normal().parent_path();
  return path.empty() ? path : (Path(".") / path / "").parent_path();
}

Result<void> BackingFile::read(std::uint64_t offset, MutableByteSpan out) const {
  DEDUPFS_ASSIGN(const std::size_t filled, read_up_to(offset, out));
  if (filled == out.size()) return {};
  return Error{ErrorCode::kCorruption, path().string() + " ends at " + std::to_string(offset + filled) + ", " +
                                           std::to_string(out.size() - filled) + " bytes are missing"};
}

Result<void> BackingFile::discard(std::uint64_t /*offset*/, std::uint64_t /*length*/) {
  return Error{ErrorCode::kUnsupported, path().string() + ": this disk cannot give back the room of a part of a file"};
}

// This is why openat2(2) with RESOLVE_BENEATH is not needed, which older kernels and some containers do not have: O_NOFOLLOW
// covers the one name there is.
Result<std::string> BackingFolder::single(std::string_view name) {
  if (!name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\0", 2)) == name.npos)
    return std::string(name);
  return Error{ErrorCode::kInvalidArgument, "'" + std::string(name) + "' is not the name of a file"};
}

Result<Backing::Type> BackingFolder::type(std::string_view name) {
  DEDUPFS_ASSIGN(const Backing::Status found, status(name));
  return found.type;
}

Result<bool> BackingFolder::exists(std::string_view name) {
  DEDUPFS_ASSIGN(const Type found, type(name));
  return found != Type::kMissing;
}

Result<std::shared_ptr<BackingFolder>> BackingFolder::make_and_open_folder(std::string_view name) {
  DEDUPFS_TRY(make_folder(name));
  return open_folder(name);
}

std::shared_ptr<Backing> Backing::posix() {
  static const std::shared_ptr<Backing> instance = std::make_shared<PosixBacking>();
  return instance;
}

Result<void> replace_file(BackingFolder& folder, std::string_view name, ByteSpan content) {
  const std::string temporary = std::string(name) + ".new";
  DEDUPFS_ASSIGN(const bool leftover, folder.exists(temporary));
  if (leftover) DEDUPFS_TRY(folder.unlink(temporary));
  DEDUPFS_ASSIGN(const auto file, folder.open(temporary, Backing::Mode::kCreate));
  DEDUPFS_TRY(file->write(0, content));
  DEDUPFS_TRY(file->datasync());
  DEDUPFS_TRY(folder.rename(temporary, folder, name));
  return folder.sync();
}

Result<void> remove_tree(BackingFolder& folder, std::string_view name) {
  return remove_tree(folder, name, kDeepestTree);
}

Result<std::string> read_file(BackingFolder& folder, std::string_view name, std::uint64_t limit) {
  DEDUPFS_ASSIGN(const auto file, folder.open(name, Backing::Mode::kRead));
  DEDUPFS_ASSIGN(const std::uint64_t size, file->size());
  if (size > limit)
    return Error{ErrorCode::kCorruption, file->path().string() + " has " + std::to_string(size) + " bytes"};
  std::string content(size, '\0');
  DEDUPFS_TRY(file->read(0, {reinterpret_cast<std::uint8_t*>(content.data()), content.size()}));
  return content;
}

}  // namespace dedupfs
