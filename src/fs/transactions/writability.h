// Whether a volume can be changed, and if not, the reason.
//
// Threads: every function from any thread. They never wait.
#pragma once

#include <atomic>
#include <optional>

#include "base/mutex.h"
#include "base/result.h"
#include "fs/format/types.h"
#include "fs/transactions/lock_order.h"

namespace dedupfs {

class Writability {
 public:
  // `read_only`: as the volume was opened.
  explicit Writability(bool read_only) : read_only_(read_only) {}

  // kReadOnly if nothing can be changed.
  Result<void> check() const;
  // The same for this inode; also kReadOnly for an inode of a snapshot. kNoMemory while there is no memory left.
  Result<void> check(InodeNumber node) const;

  // From now on nothing is changed, until the next mount. What was changed can still be committed. The first reason is kept.
  void end_changes(const Error& reason) noexcept;
  // The same, and nothing is committed any more.
  void abort(const Error& reason) noexcept;
  bool is_aborted() const { return aborted_; }
  std::optional<Error> abort_reason() const;
  Result<void> check_not_aborted() const;  // kIo, with the reason

 private:
  const bool read_only_;
  std::atomic<bool> ended_{false};
  std::atomic<bool> aborted_{false};
  mutable Mutex mutex_ DEDUPFS_ACQUIRED_AFTER(lock_order::leaves);
  std::optional<Error> end_reason_ DEDUPFS_GUARDED_BY(mutex_);
  std::optional<Error> reason_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
