// The lock file of a volume, for layers of its disk that must act when somebody takes the lock: what they saw before, another process may have
// changed since.
//
// Threads, failure: as backing.h says; try_lock() has the errors of `when_taken`, too.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/backing.h"

namespace dedupfs {

class WatchedLock final : public BackingFile {
 public:
  using WhenTaken = std::function<Result<void>()>;

  WatchedLock(std::shared_ptr<BackingFile> real, WhenTaken when_taken)
      : real_(std::move(real)), when_taken_(std::move(when_taken)) {}

  const Path& path() const override { return real_->path(); }
  Result<std::size_t> read_up_to(std::uint64_t offset, MutableByteSpan out) const override {
    return real_->read_up_to(offset, out);
  }
  Result<void> write(std::uint64_t offset, ByteSpan data) override { return real_->write(offset, data); }
  Result<void> truncate(std::uint64_t size) override { return real_->truncate(size); }
  Result<std::uint64_t> size() const override { return real_->size(); }
  Result<void> datasync() override { return real_->datasync(); }
  Result<bool> try_lock(LockMode mode) override {
    DEDUPFS_ASSIGN(const bool is_taken, real_->try_lock(mode));
    if (is_taken) DEDUPFS_TRY(when_taken_());
    return is_taken;
  }

 private:
  const std::shared_ptr<BackingFile> real_;
  const WhenTaken when_taken_;
};

}  // namespace dedupfs
