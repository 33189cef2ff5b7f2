// A Backing that passes everything on to the operating system, keeps a log of what changes the disk, and fails where a
// test wants it to.
//
// Threads: as Backing; `fault` is called from any of them and is set before the first.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/backing.h"

namespace dedupfs {

class FaultyBacking final : public Backing {
 public:
  // The operation is one of "open", "write", "truncate", "datasync", "rename", "link", "unlink", "sync_directory";
  // or "drop_cached", which never fails.
  using Fault = std::function<std::optional<Error>(const std::string& operation, const Path& path)>;

  Fault fault;

  // "datasync 0000000001.container", in order; failed ones are not in it.
  std::vector<std::string> log() const {
    const std::lock_guard lock(log_->mutex);
    return log_->lines;
  }
  void clear_log() {
    const std::lock_guard lock(log_->mutex);
    log_->lines.clear();
  }

  Result<std::unique_ptr<BackingFile>> open(const Path& path, Mode mode) override {
    DEDUPFS_TRY(attempt("open", path));
    DEDUPFS_ASSIGN(auto file, real_->open(path, mode));
    return std::make_unique<File>(*this, std::move(file), path);
  }
  Result<void> rename(const Path& from, const Path& to) override {
    DEDUPFS_TRY(attempt("rename", to));
    return real_->rename(from, to);
  }
  Result<void> unlink(const Path& path) override {
    DEDUPFS_TRY(attempt("unlink", path));
    return real_->unlink(path);
  }
  Result<void> link(const Path& from, const Path& to) override {
    DEDUPFS_TRY(attempt("link", to));
    return real_->link(from, to);
  }
  Result<void> make_directory(const Path& path) override { return real_->make_directory(path); }
  Result<void> remove_directory(const Path& path) override { return real_->remove_directory(path); }
  Result<void> sync_directory(const Path& path) override {
    DEDUPFS_TRY(attempt("sync_directory", path));
    return real_->sync_directory(path);
  }
  Result<std::vector<std::string>> list_directory(const Path& path) override { return real_->list_directory(path); }
  Result<Type> type(const Path& path) override { return real_->type(path); }
  Result<Space> space(const Path& path) override { return real_->space(path); }

 private:
  struct Log {
    std::mutex mutex;
    std::vector<std::string> lines;
  };

  class File final : public BackingFile {
   public:
    File(FaultyBacking& backing, std::unique_ptr<BackingFile> real, Path path)
        : backing_(backing), real_(std::move(real)), path_(std::move(path)) {}

    const Path& path() const override { return path_; }
    Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
      return real_->read_up_to(offset, out);
    }
    Result<void> write(std::uint64_t offset, ByteSpan data) override {
      DEDUPFS_TRY(backing_.attempt("write", path_));
      return real_->write(offset, data);
    }
    Result<void> truncate(std::uint64_t size) override {
      DEDUPFS_TRY(backing_.attempt("truncate", path_));
      return real_->truncate(size);
    }
    Result<std::uint64_t> size() const override { return real_->size(); }
    Result<void> datasync() override {
      DEDUPFS_TRY(backing_.attempt("datasync", path_));
      return real_->datasync();
    }
    Result<bool> try_lock(LockMode mode) override { return real_->try_lock(mode); }
    void drop_cached(std::uint64_t offset, std::uint64_t length) const override {
      if (backing_.fault) (void)backing_.fault("drop_cached", path_);
      backing_.note("drop_cached", path_);
      real_->drop_cached(offset, length);
    }

   private:
    FaultyBacking& backing_;
    std::unique_ptr<BackingFile> real_;
    Path path_;
  };

  Result<void> attempt(const std::string& operation, const Path& path) {
    if (fault)
      if (const auto error = fault(operation, path)) return *error;
    note(operation, path);
    return {};
  }
  void note(const std::string& operation, const Path& path) {
    const std::lock_guard lock(log_->mutex);
    log_->lines.push_back(operation + " " + path.filename().string());
  }

  std::shared_ptr<Backing> real_ = Backing::posix();
  std::unique_ptr<Log> log_ = std::make_unique<Log>();
};

}  // namespace dedupfs
