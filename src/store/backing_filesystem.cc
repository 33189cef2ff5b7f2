#include "store/backing_filesystem.h"

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
  Directory(std::shared_ptr<Backing> backing, Path path) : backing_(std::move(backing)), path_(std::move(path)) {}

  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return status_of(backing_->sync_directory(path_));
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }

 private:
  const std::shared_ptr<Backing> backing_;
  const Path path_;
};

class Lock final : public rocksdb::FileLock {
 public:
  explicit Lock(std::unique_ptr<BackingFile> file) : file_(std::move(file)) {}

 private:
  const std::unique_ptr<BackingFile> file_;
};

class BackingFilesystem final : public rocksdb::FileSystem {
 public:
  BackingFilesystem(std::shared_ptr<Backing> backing, std::shared_ptr<LostAppends> lost)
      : backing_(std::move(backing)), lost_(std::move(lost)) {}

  const char* Name() const override { return "dedupfs.backing"; }

  IOStatus NewSequentialFile(const std::string& name, const FileOptions& /*options*/,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result, IODebugContext* /*dbg*/) override {
    return open_sequential(*backing_, name, result);
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& /*options*/,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result, IODebugContext* /*dbg*/) override {
    return open_random_access(*backing_, name, result);
  }
  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* /*dbg*/) override {
    if (name.ends_with(".log")) return open_log(*backing_, name, lost_, options, result);
    return open_writable(*backing_, name, Backing::Mode::kOpenOrCreate, true, options, result);
  }
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* /*dbg*/) override {
    return open_writable(*backing_, name, Backing::Mode::kReadWrite, false, options, result);
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& /*options*/,
                        std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext* /*dbg*/) override {
    *result = std::make_unique<Directory>(backing_, name);
    return IOStatus::OK();
  }
  IOStatus FileExists(const std::string& name, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    const auto exists = backing_->exists(name);
    if (exists && !*exists) return IOStatus::NotFound(name);
    return status_of(exists);
  }
  IOStatus GetChildren(const std::string& name, const IOOptions& /*options*/, std::vector<std::string>* result,
                       IODebugContext* /*dbg*/) override {
    auto names = backing_->list_directory(name);
    if (!names && names.error().code() == ErrorCode::kNotFound) return IOStatus::NotFound(names.error().message());
    if (names) *result = std::move(*names);
    return status_of(names);
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return status_of(backing_->unlink(name));
  }
  IOStatus CreateDir(const std::string& name, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return status_of(backing_->make_directory(name));
  }
  IOStatus CreateDirIfMissing(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    const auto type = backing_->type(name);
    if (type && *type == Backing::Type::kDirectory) return IOStatus::OK();
    return type ? CreateDir(name, options, dbg) : status_of(type);
  }
  IOStatus DeleteDir(const std::string& name, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return status_of(backing_->remove_directory(name));
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions& /*options*/, std::uint64_t* size,
                       IODebugContext* /*dbg*/) override {
    const auto file = backing_->open(name, Backing::Mode::kRead);
    if (!file) return status_of(file);
    const auto found = (*file)->size();
    if (found) *size = *found;
    return status_of(found);
  }
  IOStatus GetFileModificationTime(const std::string& /*name*/, const IOOptions& /*options*/, std::uint64_t* /*time*/,
                                   IODebugContext* /*dbg*/) override {
    return IOStatus::NotSupported();
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& /*options*/,
                      IODebugContext* /*dbg*/) override {
    // RocksDB puts a new manifest in place by this, also during recovery, where it has not synced the names of the tables that
    // the manifest refers to.
    if (const auto synced = backing_->sync_directory(Path(to).parent_path()); !synced) return status_of(synced);
    return status_of(backing_->rename(from, to));
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& /*options*/,
                    IODebugContext* /*dbg*/) override {
    return status_of(backing_->link(from, to));
  }
  IOStatus LockFile(const std::string& name, const IOOptions& /*options*/, rocksdb::FileLock** lock,
                    IODebugContext* /*dbg*/) override {
    auto file = backing_->open(name, Backing::Mode::kOpenOrCreate);
    if (!file) return status_of(file);
    const auto locked = (*file)->try_lock(BackingFile::LockMode::kExclusive);
    if (!locked) return status_of(locked);
    if (!*locked) return IOStatus::IOError(name + " is locked: the index is in use");
    *lock = new Lock(std::move(*file));  // RocksDB hands it to UnlockFile()
    return IOStatus::OK();
  }
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    delete lock;
    return IOStatus::OK();
  }
  IOStatus GetFreeSpace(const std::string& name, const IOOptions& /*options*/, std::uint64_t* free,
                        IODebugContext* /*dbg*/) override {
    const auto space = backing_->space(name);
    if (space) *free = space->available_bytes;
    return status_of(space);
  }
  IOStatus IsDirectory(const std::string& name, const IOOptions& /*options*/, bool* is_directory,
                       IODebugContext* /*dbg*/) override {
    const auto type = backing_->type(name);
    if (type) *is_directory = *type == Backing::Type::kDirectory;
    return status_of(type);
  }
  IOStatus GetTestDirectory(const IOOptions& /*options*/, std::string* /*path*/, IODebugContext* /*dbg*/) override {
    return IOStatus::NotSupported();
  }
  IOStatus GetAbsolutePath(const std::string& path, const IOOptions& /*options*/, std::string* result,
                           IODebugContext* /*dbg*/) override {
    *result = std::filesystem::absolute(path).string();
    return IOStatus::OK();
  }
  IOStatus NewLogger(const std::string& /*name*/, const IOOptions& /*options*/,
                     std::shared_ptr<rocksdb::Logger>* /*result*/, IODebugContext* /*dbg*/) override {
    return IOStatus::NotSupported();  // a volume holds no log of RocksDB's
  }

 private:
  const std::shared_ptr<Backing> backing_;
  const std::shared_ptr<LostAppends> lost_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> make_backing_filesystem(std::shared_ptr<Backing> backing,
                                                             std::shared_ptr<LostAppends> lost) {
  return std::make_shared<BackingFilesystem>(std::move(backing), std::move(lost));
}

}  // namespace dedupfs
