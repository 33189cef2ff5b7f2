// Everything that dedupfs does to the disk below, except what RocksDB does, goes through this interface, so that tests
// can record it, cut it off and make it fail.
//
// Threads: Backing and BackingFile may be used from any thread; concurrent writes to one range of a file are the
// caller's business. Failure: short reads and writes are continued, EINTR is repeated; everything else comes back as an
// Error that names the path. Symlinks are not followed in the last component of a path: a volume holds plain files
// only.
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

  // Fills `out` from `offset`; a file that ends before that is kCorruption ("ends at ...").
  virtual Result<void> read(std::uint64_t offset, MutableByteSpan out) const = 0;
  virtual Result<void> write(std::uint64_t offset, ByteSpan data) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() const = 0;
  virtual Result<void> datasync() = 0;
};

class Backing {
 public:
  enum class Mode { kRead, kReadWrite, kCreate };  // kCreate: must not exist; mode 0600

  struct Space {
    std::uint64_t total_bytes = 0;
    std::uint64_t available_bytes = 0;  // to this process
  };

  virtual ~Backing() = default;

  virtual Result<std::unique_ptr<BackingFile>> open(const Path& path, Mode mode) = 0;
  virtual Result<void> rename(const Path& from, const Path& to) = 0;
  virtual Result<void> unlink(const Path& path) = 0;
  virtual Result<void> make_directory(const Path& path) = 0;  // mode 0700
  virtual Result<void> sync_directory(const Path& path) = 0;
  virtual Result<std::vector<std::string>> list_directory(const Path& path) = 0;  // sorted, without . and ..
  virtual Result<bool> exists(const Path& path) = 0;
  virtual Result<Space> space(const Path& path) = 0;

  // The operating system itself.
  static std::shared_ptr<Backing> posix();
};

// Replaces `path` atomically and durably: a temporary file beside it, fsync, rename, fsync of the directory.
Result<void> replace_file(Backing& backing, const Path& path, ByteSpan content);

// The whole file; larger than `limit` is kCorruption.
Result<std::string> read_file(Backing& backing, const Path& path, std::uint64_t limit);

}  // namespace dedupfs
