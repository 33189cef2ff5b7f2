// All access to a volume on disk goes through this interface, that of RocksDB, too. So tests can record it, cut it off and make
// it fail.
//
// A caller opens the folder of the volume once, by its path, and every folder below by one name in its parent. Each operation
// then takes an open folder and one name in it. So changes of the paths do not matter: a user who may write to the folders can
// move them or replace them by symbolic links, but dedupfs touches nothing outside of the folders that it opened.
//
// Threads: Backing, BackingFolder and BackingFile may be used from any thread. The caller orders concurrent writes to one range
//          of a file.
// Failure: short reads and writes are continued, EINTR and EAGAIN are repeated. Other failures are an Error that names the path.
//          A volume holds plain files and folders only: a symbolic link or anything else in place of one is kCorruption.
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

// Absolute, without a slash at its end. Where the current folder is gone it stays relative, and an empty path stays empty.
Path whole_path(const Path& path);

class BackingFile {
 public:
  virtual ~BackingFile() = default;

  virtual const Path& path() const = 0;  // the path when it was opened, for messages

  // Fills `out` from `offset`. Fewer bytes than out.size() mean the end of the file.
  virtual Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const = 0;
  // Fills all of `out`; a file that ends before that is kCorruption ("ends at ...").
  Result<void> read(std::uint64_t offset, MutableByteSpan out) const;
  virtual Result<void> write(std::uint64_t offset, ByteSpan data) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> size() const = 0;
  virtual Result<void> datasync() = 0;  // content and size, not the name: see BackingFolder::sync()

  // An advisory lock, held until the file is closed or the process ends; false if another process holds one. kExclusiveRecord is an
  // exclusive one of the kind of fcntl(2), for a file that programs of others lock in that way: the two kinds do not see each other.
  enum class LockMode { kShared, kExclusive, kExclusiveRecord };
  virtual Result<bool> try_lock(LockMode mode) = 0;

  // Makes the next read of the range come from the disk, not from the page cache, if that is possible.
  virtual void drop_cached(std::uint64_t /*offset*/, std::uint64_t /*length*/) const {}

  // Whether a read of the range needs nothing but this machine. A hint: it may be wrong by the time of the read.
  virtual bool is_near(std::uint64_t /*offset*/, std::uint64_t /*length*/) const { return true; }
  // Gives the room of the range back to the disk; it reads as zeros from then on. The length of the file stays. kUnsupported: the disk
  // cannot do that.
  virtual Result<void> discard(std::uint64_t offset, std::uint64_t length);
};

class BackingFolder;

class Backing {
 public:
  // New files have mode 0600. kCreate: the file must not exist.
  enum class Mode { kRead, kReadWrite, kCreate, kOpenOrCreate };
  enum class Type { kMissing, kFile, kDirectory, kOther };

  struct Space {
    std::uint64_t total_bytes = 0;
    std::uint64_t available_bytes = 0;  // to this process
  };

  // The status of a name. kMissing is no error; the other fields are 0 then.
  struct Status {
    Type type = Type::kMissing;
    std::uint32_t owner = 0;
    std::uint32_t group = 0;
    std::uint32_t permissions = 0;  // as chmod(2) takes them
    std::uint64_t allocated_bytes = 0;
    std::int64_t modified = 0;  // seconds since 1970; 0: not known
  };

  virtual ~Backing() = default;

  // Opens the folder at a path. Only this function opens by path. It follows symbolic links, since the user chose the path.
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

  const Path& path() const { return path_; }  // the path when it was opened, for messages

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
  // The descriptor of the operating system, for operations that this interface lacks, such as sockets. None if the folder has no
  // descriptor.
  virtual std::optional<int> descriptor() const { return std::nullopt; }

  Result<Type> type(std::string_view name);
  Result<bool> exists(std::string_view name);
  Result<std::shared_ptr<BackingFolder>> make_and_open_folder(std::string_view name);

 protected:
  explicit BackingFolder(Path path) : path_(std::move(path)) {}

  // The name, if it is one name in a folder and never a path: so no part of a volume's folder can lead elsewhere.
  static Result<std::string> single(std::string_view name);

 private:
  const Path path_;
};

// Replaces a file atomically and durably: a temporary file beside it, fsync, rename, fsync of the folder.
Result<void> replace_file(BackingFolder& folder, std::string_view name, ByteSpan content);

// Removes a file, or a folder with everything in it; a missing name is no error. kCorruption if folders are nested more deeply than
// in any volume.
Result<void> remove_tree(BackingFolder& folder, std::string_view name);

// Reads the whole file. A file larger than `limit` is kCorruption.
Result<std::string> read_file(BackingFolder& folder, std::string_view name, std::uint64_t limit);

}  // namespace dedupfs
