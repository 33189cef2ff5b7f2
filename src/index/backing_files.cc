#include "index/backing_files.h"

#include <algorithm>
#include <utility>

#include "index/log_damage.h"
#include "index/sealed_manifest.h"
#include "index/table_format.h"

namespace dedupfs {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

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
  SequentialFile(std::unique_ptr<BackingFile> file, std::uint64_t end) : file_(std::move(file)), end_(end) {}

  IOStatus Read(std::size_t n, const IOOptions& /*options*/, Slice* result, char* scratch,
                IODebugContext* /*dbg*/) override {
    const std::uint64_t left = end_ - std::min(end_, offset_);
    IOStatus status = read_into(*file_, offset_, std::min<std::uint64_t>(n, left), result, scratch);
    offset_ += result->size();
    return status;
  }
  IOStatus Skip(std::uint64_t n) override {
    offset_ += n;
    return IOStatus::OK();
  }

 private:
  const std::unique_ptr<BackingFile> file_;
  const std::uint64_t end_;
  std::uint64_t offset_ = 0;
};

// Damage, which RocksDB tells from a disk that fails.
IOStatus verdict_of(const Result<void>& judged) {
  if (!judged && judged.error().code() == ErrorCode::kCorruption) return IOStatus::Corruption(judged.error().message());
  return status_of(judged);
}

// Reads each block by itself, so that it can be judged.
//
// When RocksDB opens a table, it reads the pieces of an index or a filter together, whatever its options say. It rounds that read
// to the alignment that a file asks for: its place, its length and its buffer. A block rarely has this alignment by chance, and a
// block of ordinary size never has. So the two kinds of reads can be told apart. A rounded read gets nothing, as at the end of a
// file, and RocksDB reads each piece when it needs it. For each table that it opens, RocksDB takes one and a half to three times
// the alignment as a buffer.
class TableFile final : public rocksdb::FSRandomAccessFile {
 public:
  TableFile(std::unique_ptr<BackingFile> file, std::shared_ptr<const BlockMemory> memory)
      : file_(std::move(file)), memory_(std::move(memory)) {}

  IOStatus Read(std::uint64_t offset, std::size_t n, const IOOptions& /*options*/, Slice* result, char* scratch,
                IODebugContext* /*dbg*/) const override {
    *result = Slice(scratch, 0);
    if (is_of_several_blocks(offset, n, scratch)) return IOStatus::OK();
    if (n > kMaxBlockBytes)  // scratch may be no memory at all: see BlockMemory
      return IOStatus::Corruption(file_->path().string() + ": a block of " + std::to_string(n) + " bytes");
    IOStatus status = read_into(*file_, offset, n, result, scratch);
    if (status.ok()) status = verdict_of(judge_block(*file_, bytes_in(*result), *memory_));
    return status;
  }
  std::size_t GetRequiredBufferAlignment() const override { return kPrefetchAlignment; }
  // The kernel reads ahead. Without this RocksDB would, into a buffer of its own, and reads were no blocks any more.
  IOStatus Prefetch(std::uint64_t /*offset*/, std::size_t /*n*/, const IOOptions& /*options*/,
                    IODebugContext* /*dbg*/) override {
    return IOStatus::OK();
  }

 private:
  static constexpr std::size_t kPrefetchAlignment = 64 << 10;

  static bool is_of_several_blocks(std::uint64_t offset, std::size_t n, const char* scratch) {
    return (offset | n | reinterpret_cast<std::uintptr_t>(scratch)) % kPrefetchAlignment == 0;
  }

  const std::unique_ptr<BackingFile> file_;
  const std::shared_ptr<const BlockMemory> memory_;
};

// Append-only. RocksDB buffers in front of it.
class WritableFile final : public rocksdb::FSWritableFile {
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

// RocksDB syncs its appends to a manifest before it relies on them.
class ManifestFile final : public rocksdb::FSWritableFile {
 public:
  ManifestFile(std::unique_ptr<BackingFile> file, std::uint64_t size, const FileOptions& options)
      : FSWritableFile(options), file_(std::move(file)), manifest_(*file_, size) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& /*options*/, IODebugContext* /*dbg*/) override {
    manifest_.append(bytes_in(data));
    return IOStatus::OK();
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }
  IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return status_of(manifest_.sync()); }
  std::uint64_t GetFileSize(const IOOptions& /*options*/, IODebugContext* /*dbg*/) override { return manifest_.size(); }

 private:
  const std::unique_ptr<BackingFile> file_;
  SealedManifest manifest_;
};

// A log that ends where it fails: it is cut off behind the synced bytes, and takes nothing more, without an error.
//
// RocksDB's Resume() begins a new log. But first it completes the record in the old log that did not fit. Then it turns the
// memory of one family after the other into tables. A crash in between could leave a record of which nobody was told. A replay
// would apply it only to those families that are not tables yet. Or the crash could leave a torn record, with tables behind it
// already, and RocksDB would refuse to open. So nothing of this record may stay.
//
// RocksDB 7.8 takes it for fatal if a log cannot even be begun. So there is a log without a file, which fails when it is written
// to. Resume() can repair that.
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
  // RocksDB cuts off the space that it allocated ahead; here there is none.
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
    return cut.ok() ? why
                    : IOStatus::IOError(why.ToString() + "; the incomplete end cannot be removed: " + cut.ToString());
  }

  const std::unique_ptr<rocksdb::FSWritableFile> file_;
  const IOStatus why_not_;  // is there no file
  const std::shared_ptr<LostAppends> lost_;
  std::uint64_t synced_bytes_ = 0;
  bool is_over_ = false;
};

}  // namespace

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

IOStatus open_sequential(BackingFolder& folder, const std::string& name,
                         std::unique_ptr<rocksdb::FSSequentialFile>* result) {
  auto file = folder.open(name, Backing::Mode::kRead);
  if (!file) return status_of(file);
  const auto judged = judge_stream(**file);
  // RocksDB asserts that what keeps it from reading IDENTITY is this kind of error.
  if (!judged) return name == "IDENTITY" ? IOStatus::IOError(judged.error().message()) : verdict_of(judged);
  const auto end = is_manifest(name) ? sealed_end(**file)
                   : is_log(name)    ? sound_end(**file)
                                     : Result<std::uint64_t>(UINT64_MAX);
  if (end) *result = std::make_unique<SequentialFile>(std::move(*file), *end);
  return status_of(end);
}

IOStatus open_random_access(BackingFolder& folder, const std::string& name,
                            const std::shared_ptr<const BlockMemory>& memory,
                            std::unique_ptr<rocksdb::FSRandomAccessFile>* result) {
  auto file = folder.open(name, Backing::Mode::kRead);
  if (!file) return status_of(file);
  // Besides tables, RocksDB opens CURRENT here, to find out the abilities of the file system. The index of dedupfs has no blob
  // files.
  const auto judged = is_table(name) ? judge_table(**file) : judge_stream(**file);
  if (!judged) return verdict_of(judged);
  *result = std::make_unique<TableFile>(std::move(*file), memory);
  return IOStatus::OK();
}

IOStatus open_writable(BackingFolder& folder, const std::string& name, Backing::Mode mode, bool empty,
                       const FileOptions& options, std::unique_ptr<rocksdb::FSWritableFile>* result) {
  auto file = folder.open(name, mode);
  if (!file) return status_of(file);
  auto size = (*file)->size();
  if (empty && (!size || *size != 0)) {  // also of a damaged file: its content goes
    if (const auto cut = (*file)->truncate(0); !cut) return status_of(cut);
    size = 0;
  }
  if (!size) return status_of(size);
  if (is_manifest(name))
    *result = std::make_unique<ManifestFile>(std::move(*file), *size, options);
  else
    *result = std::make_unique<WritableFile>(std::move(*file), *size, options);
  return IOStatus::OK();
}

IOStatus open_log(BackingFolder& folder, const std::string& name, const std::shared_ptr<LostAppends>& lost,
                  const FileOptions& options, std::unique_ptr<rocksdb::FSWritableFile>* result) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus opened = open_writable(folder, name, Backing::Mode::kOpenOrCreate, true, options, &file);
  if (!opened.ok() && !opened.IsNoSpace()) return opened;
  *result = std::make_unique<LogFile>(std::move(file), opened, lost, options);
  return IOStatus::OK();
}

}  // namespace dedupfs
