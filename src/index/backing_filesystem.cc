#include "index/backing_filesystem.h"

#include <string>
#include <utility>
#include <vector>

namespace dedupfs {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class Directory final : public rocksdb::FSDirectory {
 public:
  explicit Directory(std::shared_ptr<BackingFolder> folder) : folder_(std::move(folder)) {}

  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return status_of(folder_->sync()); }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }

 private:
  const std::shared_ptr<BackingFolder> folder_;
};

class Lock final : public rocksdb::FileLock {
 public:
  explicit Lock(std::unique_ptr<BackingFile> file) : file_(std::move(file)) {}

 private:
  const std::unique_ptr<BackingFile> file_;
};

// The target of a path of RocksDB.
struct Place {
  std::shared_ptr<BackingFolder> folder;
  std::string name;  // empty: the folder itself
};

class BackingFilesystem final : public rocksdb::FileSystem {
 public:
  BackingFilesystem(std::shared_ptr<BackingFolder> folder, std::shared_ptr<LostAppends> lost,
                    std::shared_ptr<const BlockMemory> memory)
      : folder_(std::move(folder)), lost_(std::move(lost)), memory_(std::move(memory)) {}

  const char* Name() const override { return "dedupfs.backing"; }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& /*options*/,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result, IODebugContext* /*dbg*/) override {
    return at(path, [&](const Place& place) { return open_sequential(*place.folder, place.name, result); });
  }
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& /*options*/,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result, IODebugContext* /*dbg*/) override {
    return at(path, [&](const Place& place) { return open_random_access(*place.folder, place.name, memory_, result); });
  }
  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* /*dbg*/) override {
    return at(path, [&](const Place& place) {
      if (place.name.ends_with(".log")) return open_log(*place.folder, place.name, lost_, options, result);
      return open_writable(*place.folder, place.name, Backing::Mode::kOpenOrCreate, true, options, result);
    });
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* /*dbg*/) override {
    return at(path, [&](const Place& place) {
      return open_writable(*place.folder, place.name, Backing::Mode::kReadWrite, false, options, result);
    });
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& /*options*/,
                        std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext* /*dbg*/) override {
    auto folder = folder_at(path);
    if (folder) *result = std::make_unique<Directory>(std::move(*folder));
    return status_of(folder);
  }
  IOStatus FileExists(const std::string& path, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    const auto type = type_at(path);
    if (type && *type == Backing::Type::kMissing) return IOStatus::NotFound(path);
    return status_of(type);
  }
  IOStatus GetChildren(const std::string& path, const IOOptions& /*options*/, std::vector<std::string>* result,
                       IODebugContext* /*dbg*/) override {
    const auto folder = folder_at(path);
    if (!folder && folder.error().code() == ErrorCode::kNotFound) return IOStatus::NotFound(folder.error().message());
    if (!folder) return status_of(folder);
    auto names = (*folder)->list();
    if (names) *result = std::move(*names);
    return status_of(names);
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return at(path, [](const Place& place) { return status_of(place.folder->unlink(place.name)); });
  }
  IOStatus CreateDir(const std::string& path, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return at(path, [](const Place& place) { return status_of(place.folder->make_folder(place.name)); });
  }
  IOStatus CreateDirIfMissing(const std::string& path, const IOOptions& options, IODebugContext* dbg) override {
    const auto type = type_at(path);
    if (type && *type == Backing::Type::kDirectory) return IOStatus::OK();
    return type ? CreateDir(path, options, dbg) : status_of(type);
  }
  IOStatus DeleteDir(const std::string& path, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return at(path, [](const Place& place) { return status_of(place.folder->remove_folder(place.name)); });
  }
  IOStatus GetFileSize(const std::string& path, const IOOptions& /*options*/, std::uint64_t* size,
                       IODebugContext* /*dbg*/) override {
    return at(path, [size](const Place& place) {
      const auto file = place.folder->open(place.name, Backing::Mode::kRead);
      if (!file) return status_of(file);
      const auto found = (*file)->size();
      if (found) *size = *found;
      return status_of(found);
    });
  }
  IOStatus GetFileModificationTime(const std::string& /*path*/, const IOOptions& /*options*/, std::uint64_t* /*time*/,
                                   IODebugContext* /*dbg*/) override {
    return IOStatus::NotSupported();
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& /*options*/,
                      IODebugContext* /*dbg*/) override {
    return between(from, to, [](const Place& source, const Place& target) {
      // RocksDB puts a new manifest in place by this, also during recovery, where it has not synced the names of the tables that
      // the manifest refers to.
      if (const auto synced = target.folder->sync(); !synced) return status_of(synced);
      return status_of(source.folder->rename(source.name, *target.folder, target.name));
    });
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& /*options*/,
                    IODebugContext* /*dbg*/) override {
    return between(from, to, [](const Place& source, const Place& target) {
      return status_of(source.folder->link(source.name, *target.folder, target.name));
    });
  }
  IOStatus LockFile(const std::string& path, const IOOptions& /*options*/, rocksdb::FileLock** lock,
                    IODebugContext* /*dbg*/) override {
    return at(path, [&](const Place& place) {
      auto file = place.folder->open(place.name, Backing::Mode::kOpenOrCreate);
      if (!file) return status_of(file);
      const auto locked = (*file)->try_lock(BackingFile::LockMode::kExclusiveRecord);
      if (!locked) return status_of(locked);
      if (!*locked) return IOStatus::IOError(path + " is locked: the index is in use");
      *lock = new Lock(std::move(*file));  // RocksDB hands it to UnlockFile()
      return IOStatus::OK();
    });
  }
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    delete lock;
    return IOStatus::OK();
  }
  IOStatus GetFreeSpace(const std::string& /*path*/, const IOOptions& /*options*/, std::uint64_t* free,
                        IODebugContext* /*dbg*/) override {
    const auto space = folder_->space();
    if (space) *free = space->available_bytes;
    return status_of(space);
  }
  IOStatus IsDirectory(const std::string& path, const IOOptions& /*options*/, bool* is_directory,
                       IODebugContext* /*dbg*/) override {
    const auto type = type_at(path);
    if (type) *is_directory = *type == Backing::Type::kDirectory;
    return status_of(type);
  }
  IOStatus GetTestDirectory(const IOOptions& /*options*/, std::string* /*path*/, IODebugContext* /*dbg*/) override {
    return IOStatus::NotSupported();
  }
  IOStatus GetAbsolutePath(const std::string& path, const IOOptions& /*options*/, std::string* result,
                           IODebugContext* /*dbg*/) override {
    *result = whole_path(path).string();
    return IOStatus::OK();
  }
  IOStatus NewLogger(const std::string& /*name*/, const IOOptions& /*options*/,
                     std::shared_ptr<rocksdb::Logger>* /*result*/, IODebugContext* /*dbg*/) override {
    return IOStatus::NotSupported();  // a volume holds no log of RocksDB's
  }

 private:
  Result<Place> locate(const std::string& path) const {
    const Path below = Path(path).lexically_normal().lexically_relative(folder_->path().lexically_normal());
    if (below.empty() || *below.begin() == "..")
      return Error{ErrorCode::kInvalidArgument, path + " is not in " + folder_->path().string()};
    Place place{folder_, {}};
    for (const Path& name : below) {
      if (name.empty() || name == ".") continue;
      if (!place.name.empty()) {
        DEDUPFS_ASSIGN(place.folder, place.folder->open_folder(place.name));
      }
      place.name = name.string();
    }
    return place;
  }
  Result<std::shared_ptr<BackingFolder>> folder_at(const std::string& path) const {
    DEDUPFS_ASSIGN(const Place place, locate(path));
    return place.name.empty() ? place.folder : place.folder->open_folder(place.name);
  }
  Result<Backing::Type> type_at(const std::string& path) const {
    DEDUPFS_ASSIGN(const Place place, locate(path));
    return place.name.empty() ? Backing::Type::kDirectory : place.folder->type(place.name);
  }

  template <class Call>
  IOStatus at(const std::string& path, const Call& call) const {
    const auto place = locate(path);
    return place ? call(*place) : status_of(place);
  }
  template <class Call>
  IOStatus between(const std::string& from, const std::string& to, const Call& call) const {
    const auto source = locate(from);
    if (!source) return status_of(source);
    const auto target = locate(to);
    return target ? call(*source, *target) : status_of(target);
  }

  const std::shared_ptr<BackingFolder> folder_;
  const std::shared_ptr<LostAppends> lost_;
  const std::shared_ptr<const BlockMemory> memory_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> make_backing_filesystem(std::shared_ptr<BackingFolder> folder,
                                                             std::shared_ptr<LostAppends> lost,
                                                             std::shared_ptr<const BlockMemory> memory) {
  return std::make_shared<BackingFilesystem>(std::move(folder), std::move(lost), std::move(memory));
}

}  // namespace dedupfs
