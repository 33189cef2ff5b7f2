// A mount: the connection to the kernel and the loop that serves it.
//
// Ownership: refers to the FuseMount, which outlives it.
// Threads:   run() on one thread; stop() from any other.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "base/backing.h"
#include "base/result.h"
#include "mount/fuse/fuse_mount.h"

namespace dedupfs {

class FuseSession {
 public:
  // `mountpoint` is canonical. The mount table shows `source`, the path of the volume. From here on, programs that access the
  // mountpoint wait for run().
  static Result<std::unique_ptr<FuseSession>> mount(FuseMount& mount, const Path& mountpoint, std::string_view source);
  // Unmounts, lazily, if that has not happened. Open files get ENOTCONN.
  ~FuseSession();

  // Serves requests until the mount is gone or stop() is called, on at most `threads` threads. When it returns, every request is
  // answered.
  Result<void> run(unsigned threads);
  // Ends run(); returns when it has ended.
  void stop();

 private:
  FuseSession(FuseMount& mount, fuse_session* session) : mount_(mount), session_(session) {}

  FuseMount& mount_;
  fuse_session* session_;
  std::atomic<pthread_t> loop_thread_{};
  std::atomic<bool> ended_{false};
  bool mounted_ = false;
};

}  // namespace dedupfs
