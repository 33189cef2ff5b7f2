// Everything that dedupfs does to a volume on the disk below, RocksDB included, goes through this interface, so that tests
// can record it, cut it off and make it fail.
//
// A volume is reached through open folders. A caller opens the volume's folder once, by its path, and every folder below by one
// name in its parent. All work is then done by an open folder and one name in it. So it does not matter what becomes of the
// paths meanwhile: whoever may write to the folders can move them or put symbolic links in their places, and nothing outside
// of the folders that were opened is touched.
//
// Threads: Backing, BackingFolder and BackingFile may be used from any thread; concurrent writes to one range of a file are
// the caller's business.
// Failure: short reads and writes are continued, EINTR and EAGAIN repeated; all else comes back as an Error that names the
// path. A volume holds plain files and folders only: a symbolic link or anything else in place of one is kCorruption.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace dedupfs {

using Path = std::filesystem::path;

class BackingFile {
 public:
  virtual ~BackingFile() = default;

  virtual const Path& path() const = 0;  // for messages: where it was when it was opened

  // Fills `out` from `offset` as far as the file reaches: less than out.size() bytes means that it ends there.
  virtual Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const = 0;
  // Fills all of `out`; a file that ends before that is kCorruption ("ends at ...").
  Result<void> read(std::uint64_t offset, MutableByteSpan out) const;
  virtual Result<void> write(std::uint64_t offset, ByteSpan data) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() const = 0;
  virtual Result<void> datasync() = 0;  // content and size, not the name: see BackingFolder::sync()

  // An advisory lock, held until the file is closed or the process ends; false if somebody else's is in the way.
  enum class LockMode { kShared, kExclusive };
  virtual Result<bool> try_lock(LockMode mode) = 0;

  // Has the next read of the range come from the disk instead of the operating system's memory, where that is possible.
  virtual void drop_cached(std::uint64_t /*offset*/, std::uint64_t /*length*/) const {}
};

class BackingFolder;

class Backing {
 public:
  // What is created has mode 0600. kCreate: it must not exist.
  enum class Mode { kRead, kReadWrite, kCreate, kOpenOrCreate };
  enum class Type { kMissing, kFile, kDirectory, kOther };

  struct Space {
    std::uint64_t total_bytes = 0;
    std::uint64_t available_bytes = 0;  // to this process
  };

  // Of what stands under a name. kMissing is no error, and all else is 0 then.
  struct Status {
    Type type = Type::kMissing;
    std::uint32_t owner = 0;
    std::uint32_t group = 0;
    std::uint32_t permissions = 0;  // as chmod(2) takes them
    std::uint64_t allocated_bytes = 0;
  };

  virtual ~Backing() = default;

  // The folder at a path, the only one that is opened by a path. Symbolic links are followed: the path is the user's word.
  virtual Result<std::shared_ptr<BackingFolder>> open_root(const Path& path) = 0;

  // The operating system itself.
  static std::shared_ptr<Backing> posix();
};

// A folder that is open. Names are single: one with a slash in it, "", "." and ".." are kInvalidArgument.
class BackingFolder {
 public:
  using Mode = Backing::Mode;
  using Type = Backing::Type;
  using Status = Backing::Status;
  using Space = Backing::Space;

  virtual ~BackingFolder() = default;

  const Path& path() const { return path_; }  // for messages: where it was when it was opened

  virtual Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) = 0;
  virtual Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) = 0;
  virtual Result<void> make_folder(std::string_view name) = 0;    // mode 0700
  virtual Result<void> remove_folder(std::string_view name) = 0;  // an empty one
  // `to` is a folder of the same Backing.
  virtual Result<void> rename(std::string_view name, BackingFolder& to, std::string_view new_name) = 0;
  virtual Result<void> link(std::string_view name, BackingFolder& to, std::string_view new_name) = 0;
  virtual Result<void> unlink(std::string_view name) = 0;
  virtual Result<void> sync() = 0;                      // makes the names in it durable
  virtual Result<std::vector<std::string>> list() = 0;  // sorted, without . and ..
  virtual Result<Status> status() = 0;                  // of the folder itself
  virtual Result<Status> status(std::string_view name) = 0;
  virtual Result<Space> space() = 0;
  // Of the operating system, for what is not offered here, as sockets are; none where it is no folder of its.
  virtual std::optional<int> descriptor() const { return std::nullopt; }

  Result<Type> type(std::string_view name);
  Result<bool> exists(std::string_view name);
  Result<std::shared_ptr<BackingFolder>> make_and_open_folder(std::string_view name);

 protected:
  explicit BackingFolder(Path path) : path_(std::move(path)) {}

 private:
  const Path path_;
};

// Replaces a file atomically and durably: a temporary file beside it, fsync, rename, fsync of the folder.
Result<void> replace_file(BackingFolder& folder, std::string_view name, ByteSpan content);

// Removes a file, or a folder with everything in it; nothing there is no error. kCorruption for folders nested more deeply than
// any volume has them.
Result<void> remove_tree(BackingFolder& folder, std::string_view name);

// The whole file; larger than `limit` is kCorruption.
Result<std::string> read_file(BackingFolder& folder, std::string_view name, std::uint64_t limit);

}  // namespace dedupfs
