// An exclusive lock of a file or a folder (flock(2)) that this process alone holds: processes that it forks do not share it. So a
// helper that hangs in the kernel, and cannot be killed, keeps it from nobody.
//
// Threads: taken, released and forked by one thread.
#pragma once

#include <chrono>
#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs::tools {

class FileLock {
 public:
  // `file` was opened at `path`. kBusy, with the message `busy`, if another still has the lock after `longest`.
  static Result<FileLock> take(UniqueFd file, const Path& path, const std::string& busy,
                               std::chrono::milliseconds longest = {});
  FileLock(FileLock&& other) noexcept = default;
  FileLock& operator=(FileLock&& other) = delete;
  ~FileLock();

 private:
  explicit FileLock(UniqueFd file);

  UniqueFd file_;
};

}  // namespace dedupfs::tools
