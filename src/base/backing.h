// Everything that dedupfs does to a volume on the disk below, RocksDB included, goes through this interface, so that tests
// can record it, cut it off and make it fail.
//
// Threads: Backing and BackingFile may be used from any thread; concurrent writes to one range of a file are the
// caller's business. Failure: short reads and writes are continued, EINTR and EAGAIN repeated; all else comes back as an
// Error that names the path. Symlinks are not followed in the last component of a path: a volume holds plain files
// only, and anything else in place of one is kCorruption.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace dedupfs {

using Path = std::filesystem::path;

class BackingFile {
 public:
  virtual ~BackingFile() = default;

  virtual const Path& path() const = 0;  // as it was opened

  // Fills `out` from `offset` as far as the file reaches: less than out.size() bytes means that it ends there.
  virtual Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const = 0;
  // Fills all of `out`; a file that ends before that is kCorruption ("ends at ...").
  Result<void> read(std::uint64_t offset, MutableByteSpan out) const;
  virtual Result<void> write(std::uint64_t offset, ByteSpan data) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() const = 0;
  virtual Result<void> datasync() = 0;  // content and size, not the name: see Backing::sync_directory()

  // An advisory lock, held until the file is closed or the process ends; false if somebody else's is in the way.
  enum class LockMode { kShared, kExclusive };
  virtual Result<bool> try_lock(LockMode mode) = 0;

  // Has the next read of the range come from the disk instead of the operating system's memory, where that is possible.
  virtual void drop_cached(std::uint64_t /*offset*/, std::uint64_t /*length*/) const {}
};

class Backing {
 public:
  // What is created has mode 0600. kCreate: it must not exist.
  enum class Mode { kRead, kReadWrite, kCreate, kOpenOrCreate };
  enum class Type { kMissing, kFile, kDirectory, kOther };

  struct Space {
    std::uint64_t total_bytes = 0;
    std::uint64_t available_bytes = 0;  // to this process
  };

  virtual ~Backing() = default;

  virtual Result<std::unique_ptr<BackingFile>> open(const Path& path, Mode mode) = 0;
  virtual Result<void> rename(const Path& from, const Path& to) = 0;
  virtual Result<void> link(const Path& from, const Path& to) = 0;
  virtual Result<void> unlink(const Path& path) = 0;
  virtual Result<void> make_directory(const Path& path) = 0;                      // mode 0700
  virtual Result<void> remove_directory(const Path& path) = 0;                    // an empty one
  virtual Result<void> sync_directory(const Path& path) = 0;                      // makes the names in it durable
  virtual Result<std::vector<std::string>> list_directory(const Path& path) = 0;  // sorted, without . and ..
  virtual Result<Type> type(const Path& path) = 0;
  virtual Result<Space> space(const Path& path) = 0;

  Result<bool> exists(const Path& path);

  // The operating system itself.
  static std::shared_ptr<Backing> posix();
};

// Replaces `path` atomically and durably: a temporary file beside it, fsync, rename, fsync of the directory.
Result<void> replace_file(Backing& backing, const Path& path, ByteSpan content);

// Removes a file, or a folder with everything in it; nothing there is no error.
Result<void> remove_tree(Backing& backing, const Path& path);

// The whole file; larger than `limit` is kCorruption.
Result<std::string> read_file(Backing& backing, const Path& path, std::uint64_t limit);

}  // namespace dedupfs
