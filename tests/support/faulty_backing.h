// A Backing that passes everything on to the operating system, keeps a log of what changes the disk, and fails where a
// test wants it to.
//
// Ownership: folders and files keep one that was made by make_shared alive, and must not outlive another.
// Threads: as Backing; hooks are called from any thread, and may be set at any time. A call that has begun ends with the old hook.
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

// A function that one thread sets while others call it.
template <class Function>
class Hook {
 public:
  Hook& operator=(Function function) {
    const std::lock_guard lock(mutex_);
    function_ = std::move(function);
    return *this;
  }
  // May be empty.
  Function get() const {
    const std::lock_guard lock(mutex_);
    return function_;
  }

 private:
  mutable std::mutex mutex_;
  Function function_;
};

class FaultyBacking final : public Backing, public std::enable_shared_from_this<FaultyBacking> {
 public:
  // The operation is one of "open", "write", "truncate", "datasync", "rename", "link", "unlink", "sync_directory";
  // or "drop_cached", which never fails.
  using Fault = std::function<std::optional<Error>(const std::string& operation, const Path& path)>;

  Hook<Fault> fault;
  // What the disk says of its space, in place of the truth.
  Hook<std::function<std::optional<Space>()>> told_space;
  // Called in front of each read, on the thread that reads.
  Hook<std::function<void(const Path& path)>> before_read;
  // In place of what the file says (BackingFile::is_near()).
  Hook<std::function<bool(const Path& path)>> is_near;

  // "datasync 0000000001.container", in order; failed ones are not in it.
  std::vector<std::string> log() const {
    const std::lock_guard lock(log_->mutex);
    return log_->lines;
  }
  void clear_log() {
    const std::lock_guard lock(log_->mutex);
    log_->lines.clear();
  }

  Result<std::shared_ptr<BackingFolder>> open_root(const Path& path) override {
    DEDUPFS_ASSIGN(auto folder, real_->open_root(path));
    return std::make_shared<Folder>(*this, std::move(folder));
  }

 private:
  struct Log {
    std::mutex mutex;
    std::vector<std::string> lines;
  };

  class Folder final : public BackingFolder {
   public:
    Folder(FaultyBacking& backing, std::shared_ptr<BackingFolder> real)
        : BackingFolder(real->path()),
          backing_(backing),
          kept_(backing.weak_from_this().lock()),
          real_(std::move(real)) {}

    Result<std::unique_ptr<BackingFile>> open(std::string_view name, Mode mode) override {
      DEDUPFS_TRY(backing_.attempt("open", path() / name));
      DEDUPFS_ASSIGN(auto file, real_->open(name, mode));
      return std::make_unique<File>(backing_, std::move(file));
    }
    Result<std::shared_ptr<BackingFolder>> open_folder(std::string_view name) override {
      DEDUPFS_ASSIGN(auto folder, real_->open_folder(name));
      return std::make_shared<Folder>(backing_, std::move(folder));
    }
    Result<void> make_folder(std::string_view name) override { return real_->make_folder(name); }
    Result<void> remove_folder(std::string_view name) override { return real_->remove_folder(name); }
    Result<void> rename(std::string_view name, BackingFolder& to, std::string_view new_name) override {
      DEDUPFS_TRY(backing_.attempt("rename", to.path() / new_name));
      return real_->rename(name, *static_cast<Folder&>(to).real_, new_name);
    }
    Result<void> unlink(std::string_view name) override {
      DEDUPFS_TRY(backing_.attempt("unlink", path() / name));
      return real_->unlink(name);
    }
    Result<void> link(std::string_view name, BackingFolder& to, std::string_view new_name) override {
      DEDUPFS_TRY(backing_.attempt("link", to.path() / new_name));
      return real_->link(name, *static_cast<Folder&>(to).real_, new_name);
    }
    Result<void> sync() override {
      DEDUPFS_TRY(backing_.attempt("sync_directory", path()));
      return real_->sync();
    }
    Result<std::vector<std::string>> list() override { return real_->list(); }
    Result<Status> status() override { return real_->status(); }
    Result<Status> status(std::string_view name) override { return real_->status(name); }
    Result<Space> space() override {
      if (const auto hook = backing_.told_space.get())
        if (const auto told = hook()) return *told;
      return real_->space();
    }
    std::optional<int> descriptor() const override { return real_->descriptor(); }

   private:
    FaultyBacking& backing_;
    const std::shared_ptr<FaultyBacking> kept_;
    const std::shared_ptr<BackingFolder> real_;
  };

  class File final : public BackingFile {
   public:
    File(FaultyBacking& backing, std::unique_ptr<BackingFile> real)
        : backing_(backing), kept_(backing.weak_from_this().lock()), real_(std::move(real)) {}

    const Path& path() const override { return real_->path(); }
    Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
      if (const auto hook = backing_.before_read.get()) hook(path());
      return real_->read_up_to(offset, out);
    }
    Result<void> write(std::uint64_t offset, ByteSpan data) override {
      DEDUPFS_TRY(backing_.attempt("write", path()));
      return real_->write(offset, data);
    }
    Result<void> truncate(std::uint64_t size) override {
      DEDUPFS_TRY(backing_.attempt("truncate", path()));
      return real_->truncate(size);
    }
    Result<std::uint64_t> size() const override { return real_->size(); }
    Result<void> datasync() override {
      DEDUPFS_TRY(backing_.attempt("datasync", path()));
      return real_->datasync();
    }
    Result<bool> try_lock(LockMode mode) override { return real_->try_lock(mode); }
    void drop_cached(std::uint64_t offset, std::uint64_t length) const override {
      if (const auto hook = backing_.fault.get()) (void)hook("drop_cached", path());
      backing_.note("drop_cached", path());
      real_->drop_cached(offset, length);
    }
    bool is_near(std::uint64_t offset, std::uint64_t length) const override {
      if (const auto hook = backing_.is_near.get()) return hook(path());
      return real_->is_near(offset, length);
    }
    Result<void> discard(std::uint64_t offset, std::uint64_t length) override {
      DEDUPFS_TRY(backing_.attempt("discard", path()));
      return real_->discard(offset, length);
    }

   private:
    FaultyBacking& backing_;
    const std::shared_ptr<FaultyBacking> kept_;
    std::unique_ptr<BackingFile> real_;
  };

  Result<void> attempt(const std::string& operation, const Path& path) {
    if (const auto hook = fault.get())
      if (const auto error = hook(operation, path)) return *error;
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
