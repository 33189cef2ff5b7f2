#include "fs/transactions/writability.h"

#include <spdlog/spdlog.h>

#include "base/guarded.h"
#include "base/memory_reserve.h"
#include "base/mutex.h"

namespace dedupfs {

Result<void> Writability::check() const {
  if (read_only_) return Error{ErrorCode::kReadOnly, "the volume is open read-only"};
  if (aborted_) return Error{ErrorCode::kReadOnly, "the volume is read-only since a commit failed"};
  if (!ended_) return {};
  const MutexLock lock(mutex_);
  return Error{ErrorCode::kReadOnly, end_reason_ ? end_reason_->message() : "the volume is read-only by now"};
}

Result<void> Writability::check(InodeNumber node) const {
  if (tree_of(node) != kLiveTree || node == kSnapshotsInode)
    return Error{ErrorCode::kReadOnly, "snapshots are read-only"};
  if (!memory_reserve_is_whole()) return Error{ErrorCode::kNoMemory, "memory has run out"};
  return check();
}

void Writability::end_changes(const Error& reason) noexcept {
  if (ended_.exchange(true)) return;
  survive("log", [&] { spdlog::critical("the filesystem is read-only from now on: {}", reason.message()); });
  survive("the reason why the filesystem is read-only", [&] {
    const MutexLock lock(mutex_);
    end_reason_ = reason;
  });
}

void Writability::abort(const Error& reason) noexcept {
  aborted_ = true;
  survive("log", [&] { spdlog::critical("the filesystem is read-only from now on: {}", reason.message()); });
  survive("the reason why the filesystem is read-only", [&] {
    const MutexLock lock(mutex_);
    if (!reason_) reason_ = reason;
  });
}

std::optional<Error> Writability::abort_reason() const {
  const MutexLock lock(mutex_);
  if (aborted_ && !reason_) return Error{ErrorCode::kNoMemory, "a commit failed"};
  return reason_;
}

Result<void> Writability::check_not_aborted() const {
  if (const std::optional<Error> reason = abort_reason()) return Error{ErrorCode::kIo, reason->message()};
  return {};
}

}  // namespace dedupfs
