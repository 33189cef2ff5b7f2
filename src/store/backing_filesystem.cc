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
using rocksdb::Slice;

IOStatus status_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kNoSpace: {
      IOStatus status = IOStatus::NoSpace(error.message());
      status.SetRetryable(true);
      return status;
    }
    case ErrorCode::kNotFound: return IOStatus::PathNotFound(error.message());
    default: return IOStatus::IOError(error.message());
  }
}

template <class T>
IOStatus status_of(const Result<T>& result) {
  return result ? IOStatus::OK() : status_of(result.error());
}

ByteSpan bytes_in(const Slice& slice) {
  return {reinterpret_cast<const std::uint8_t*>(slice.data()), slice.size()};
}

// A file that ends early gives fewer bytes, and no error.
IOStatus read_into(const BackingFile& file, std::uint64_t offset, std::size_t length, Slice* result, char* scratch) {
  const Result<std::size_t> filled = file.read_up_to(offset, {reinterpret_cast<std::uint8_t*>(scratch), length});
  *result = Slice(scratch, filled ? *filled : 0);
  return status_of(filled);
}

class SequentialFile final : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(std::unique_ptr<BackingFile> file) : file_(std::move(file)) {}

  IOStatus Read(std::size_t n, const IOOptions& /*options*/, Slice* result, char* scratch,
                IODebugContext* /*dbg*/) override {
    const IOStatus status = read_into(*file_, offset_, n, result, scratch);
    offset_ += result->size();
    return status;
  }
  IOStatus Skip(std::uint64_t n) override {
    offset_ += n;
    return IOStatus::OK();
  }

 private:
  const std::unique_ptr<BackingFile> file_;
  std::uint64_t offset_ = 0;
};

// Without Prefetch(), so that RocksDB reads ahead into a buffer of its own.
class RandomAccessFile final : public rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccessFile(std::unique_ptr<BackingFile> file) : file_(std::move(file)) {}

  IOStatus Read(std::uint64_t offset, std::size_t n, const IOOptions& /*options*/, Slice* result, char* scratch,
                IODebugContext* /*dbg*/) const override {
    return read_into(*file_, offset, n, result, scratch);
  }

 private:
  const std::unique_ptr<BackingFile> file_;
};

// Append-only. RocksDB buffers in front of it.
class WritableFile : public rocksdb::FSWritableFile {
 public:
  WritableFile(std::unique_ptr<BackingFile> file, std::uint64_t size, const FileOptions& options)
      : FSWritableFile(options), file_(std::move(file)), size_(size) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    if (!file_) return IOStatus::IOError("the file is closed");
    const Result<void> written = file_->write(size_, bytes_in(data));
    if (written) size_ += data.size();
    return status_of(written);
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    if (!file_) return IOStatus::IOError("the file is closed");
    const Result<void> cut = file_->truncate(size);
    if (cut) size_ = size;
    return status_of(cut);
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    file_.reset();
    return IOStatus::OK();
  }
  IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    return file_ ? status_of(file_->datasync()) : IOStatus::IOError("the file is closed");
  }
  bool IsSyncThreadSafe() const override { return true; }
  std::uint64_t GetFileSize(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return size_; }

 private:
  std::unique_ptr<BackingFile> file_;
  std::uint64_t size_;
};

// A log that ends where it fails: it is cut off behind what was synced, and takes nothing more, without an error.
//
// RocksDB's Resume() begins a new log, but first completes the record in the old one that did not fit, and then it makes the
// memory of one family after the other into tables. A crash among these would find a record of which nobody was told, and
// replay it for those families only that are no tables yet; or it would find a torn record, behind which there are tables
// already, and refuse to open. So nothing of such a record may stay.
//
// A log that cannot even be begun is taken for fatal by RocksDB 7.8. Hence one without a file, which fails when it is written
// to: that is something that Resume() can mend.
class LogFile final : public rocksdb::FSWritableFile {
 public:
  LogFile(std::unique_ptr<rocksdb::FSWritableFile> file, IOStatus why_not, std::shared_ptr<LostAppends> lost,
          const FileOptions& options)
      : FSWritableFile(options), file_(std::move(file)), why_not_(std::move(why_not)), lost_(std::move(lost)) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    if (is_over_) {
      ++*lost_;
      return IOStatus::OK();
    }
    IOStatus appended = file_ ? file_->Append(data, options, dbg) : why_not_;
    return appended.ok() ? appended : end(std::move(appended), options, dbg);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    if (is_over_ || !file_) return IOStatus::OK();
    const std::uint64_t size = file_->GetFileSize(options, dbg);
    IOStatus synced = file_->Sync(options, dbg);
    if (!synced.ok()) return end(std::move(synced), options, dbg);
    synced_bytes_ = size;
    return synced;
  }
  // RocksDB cuts off what it allocated ahead, which is nothing here.
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* dbg) override {
    return is_over_ || !file_ ? IOStatus::OK() : file_->Truncate(size, options, dbg);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override {
    return file_ ? file_->Close(options, dbg) : IOStatus::OK();
  }
  IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }
  bool IsSyncThreadSafe() const override { return true; }
  std::uint64_t GetFileSize(const IOOptions& options, IODebugContext* dbg) override {
    return file_ ? file_->GetFileSize(options, dbg) : 0;
  }

 private:
  // If it cannot be cut off, nothing may follow: that error is none that RocksDB goes on after.
  IOStatus end(IOStatus why, const IOOptions& options, IODebugContext* dbg) {
    is_over_ = true;
    if (!file_) return why;
    IOStatus cut = file_->Truncate(synced_bytes_, options, dbg);
    if (cut.ok()) cut = file_->Sync(options, dbg);
    return cut.ok() ? why : IOStatus::IOError(why.ToString() + "; it cannot be cut off: " + cut.ToString());
  }

  const std::unique_ptr<rocksdb::FSWritableFile> file_;
  const IOStatus why_not_;  // is there no file
  const std::shared_ptr<LostAppends> lost_;
  std::uint64_t synced_bytes_ = 0;
  bool is_over_ = false;
};

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
    auto file = backing_->open(name, Backing::Mode::kRead);
    if (file) *result = std::make_unique<SequentialFile>(std::move(*file));
    return status_of(file);
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& /*options*/,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result, IODebugContext* /*dbg*/) override {
    auto file = backing_->open(name, Backing::Mode::kRead);
    if (file) *result = std::make_unique<RandomAccessFile>(std::move(*file));
    return status_of(file);
  }
  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* /*dbg*/) override {
    if (!name.ends_with(".log")) return open_writable(name, Backing::Mode::kOpenOrCreate, true, options, result);
    std::unique_ptr<rocksdb::FSWritableFile> file;
    const IOStatus opened = open_writable(name, Backing::Mode::kOpenOrCreate, true, options, &file);
    if (!opened.ok() && !opened.IsNoSpace()) return opened;
    *result = std::make_unique<LogFile>(std::move(file), opened, lost_, options);
    return IOStatus::OK();
  }
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* /*dbg*/) override {
    return open_writable(name, Backing::Mode::kReadWrite, false, options, result);
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
  IOStatus open_writable(const std::string& name, Backing::Mode mode, bool empty, const FileOptions& options,
                         std::unique_ptr<rocksdb::FSWritableFile>* result) {
    auto file = backing_->open(name, mode);
    if (!file) return status_of(file);
    auto size = (*file)->size();
    if (size && *size != 0 && empty) {
      if (const auto cut = (*file)->truncate(0); !cut) return status_of(cut);
      size = 0;
    }
    if (size) *result = std::make_unique<WritableFile>(std::move(*file), *size, options);
    return status_of(size);
  }

  const std::shared_ptr<Backing> backing_;
  const std::shared_ptr<LostAppends> lost_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> make_backing_filesystem(std::shared_ptr<Backing> backing,
                                                             std::shared_ptr<LostAppends> lost) {
  return std::make_shared<BackingFilesystem>(std::move(backing), std::move(lost));
}

}  // namespace dedupfs
