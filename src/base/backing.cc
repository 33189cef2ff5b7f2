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

// What a volume on FUSE, NFS or the like may say to a call that it has not even begun: it is made again. EAGAIN, which no
// local disk gives for a file, only for a second.
constexpr std::chrono::milliseconds kPause{10};
constexpr int kMostPauses = 100;

// What `call` returns in the end, with the errno that it leaves.
template <class Call>
auto complete(const Call& call) {
  for (int pauses = 0;;) {
    const auto returned = call();
    if (returned >= 0 || (errno != EINTR && errno != EAGAIN)) return returned;
    if (errno == EINTR) continue;
    if (pauses++ == kMostPauses) return returned;
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
      if (put == 0) return Error{ErrorCode::kIo, "writing " + path_.string() + ": nothing of it was taken"};
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

  Result<bool> try_lock(LockMode mode) override {
    if (::flock(fd_.get(), (mode == LockMode::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return true;
    if (errno == EWOULDBLOCK) return false;
    return Error::from_errno(errno, "locking " + path_.string());
  }

 private:
  UniqueFd fd_;
  Path path_;
};

class PosixBacking final : public Backing {
 public:
  Result<std::unique_ptr<BackingFile>> open(const Path& path, Mode mode) override {
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // O_NONBLOCK: a FIFO in a hostile volume must not hang us
    switch (mode) {
      case Mode::kRead: flags |= O_RDONLY; break;
      case Mode::kReadWrite: flags |= O_RDWR; break;
      case Mode::kCreate: flags |= O_RDWR | O_CREAT | O_EXCL; break;
      case Mode::kOpenOrCreate: flags |= O_RDWR | O_CREAT; break;
    }
    UniqueFd fd(complete([&] { return ::open(path.c_str(), flags, 0600); }));
    if (!fd && errno == ELOOP) return Error{ErrorCode::kCorruption, path.string() + " is a symbolic link"};
    if (!fd) return Error::from_errno(errno, path.string());
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return Error::from_errno(errno, path.string());
    if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kCorruption, path.string() + " is not a regular file"};
    return std::make_unique<PosixFile>(std::move(fd), path);
  }

  Result<void> rename(const Path& from, const Path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0)
      return Error::from_errno(errno, "renaming " + from.string() + " to " + to.string());
    return {};
  }

  Result<void> link(const Path& from, const Path& to) override {
    if (::link(from.c_str(), to.c_str()) != 0)
      return Error::from_errno(errno, "linking " + from.string() + " to " + to.string());
    return {};
  }

  Result<void> unlink(const Path& path) override {
    if (::unlink(path.c_str()) != 0) return Error::from_errno(errno, "removing " + path.string());
    return {};
  }

  Result<void> make_directory(const Path& path) override {
    if (::mkdir(path.c_str(), 0700) != 0) return Error::from_errno(errno, "creating directory " + path.string());
    return {};
  }

  Result<void> remove_directory(const Path& path) override {
    if (::rmdir(path.c_str()) != 0) return Error::from_errno(errno, "removing directory " + path.string());
    return {};
  }

  Result<void> sync_directory(const Path& path) override {
    const UniqueFd fd(complete([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (!fd) return Error::from_errno(errno, path.string());
    if (complete([&] { return ::fsync(fd.get()); }) != 0) return Error::from_errno(errno, "fsync of " + path.string());
    return {};
  }

  Result<std::vector<std::string>> list_directory(const Path& path) override {
    DIR* directory = ::opendir(path.c_str());
    if (directory == nullptr) return Error::from_errno(errno, path.string());
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(directory);
    std::ranges::sort(names);
    return names;
  }

  Result<Type> type(const Path& path) override {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
      if (errno == ENOENT) return Type::kMissing;
      return Error::from_errno(errno, path.string());
    }
    if (S_ISREG(status.st_mode)) return Type::kFile;
    return S_ISDIR(status.st_mode) ? Type::kDirectory : Type::kOther;
  }

  Result<Space> space(const Path& path) override {
    struct statvfs status {};
    if (::statvfs(path.c_str(), &status) != 0) return Error::from_errno(errno, path.string());
    return Space{status.f_frsize * status.f_blocks, status.f_frsize * status.f_bavail};
  }
};

}  // namespace

Result<void> BackingFile::read(std::uint64_t offset, MutableByteSpan out) const {
  DEDUPFS_ASSIGN(const std::size_t filled, read_up_to(offset, out));
  if (filled == out.size()) return {};
  return Error{ErrorCode::kCorruption, path().string() + " ends at " + std::to_string(offset + filled) + ", " +
                                           std::to_string(out.size() - filled) + " bytes are missing"};
}

Result<bool> Backing::exists(const Path& path) {
  DEDUPFS_ASSIGN(const Type found, type(path));
  return found != Type::kMissing;
}

std::shared_ptr<Backing> Backing::posix() {
  static const std::shared_ptr<Backing> instance = std::make_shared<PosixBacking>();
  return instance;
}

Result<void> replace_file(Backing& backing, const Path& path, ByteSpan content) {
  Path temporary = path;
  temporary += ".new";
  DEDUPFS_ASSIGN(const bool leftover, backing.exists(temporary));
  if (leftover) DEDUPFS_TRY(backing.unlink(temporary));
  DEDUPFS_ASSIGN(const auto file, backing.open(temporary, Backing::Mode::kCreate));
  DEDUPFS_TRY(file->write(0, content));
  DEDUPFS_TRY(file->datasync());
  DEDUPFS_TRY(backing.rename(temporary, path));
  return backing.sync_directory(path.parent_path());
}

Result<void> remove_tree(Backing& backing, const Path& path) {
  DEDUPFS_ASSIGN(const Backing::Type type, backing.type(path));
  if (type == Backing::Type::kMissing) return {};
  if (type != Backing::Type::kDirectory) return backing.unlink(path);
  DEDUPFS_ASSIGN(const std::vector<std::string> names, backing.list_directory(path));
  for (const std::string& name : names) DEDUPFS_TRY(remove_tree(backing, path / name));
  return backing.remove_directory(path);
}

Result<std::string> read_file(Backing& backing, const Path& path, std::uint64_t limit) {
  DEDUPFS_ASSIGN(const auto file, backing.open(path, Backing::Mode::kRead));
  DEDUPFS_ASSIGN(const std::uint64_t size, file->size());
  if (size > limit) return Error{ErrorCode::kCorruption, path.string() + " has " + std::to_string(size) + " bytes"};
  std::string content(size, '\0');
  DEDUPFS_TRY(file->read(0, {reinterpret_cast<std::uint8_t*>(content.data()), content.size()}));
  return content;
}

}  // namespace dedupfs
