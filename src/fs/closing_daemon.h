// Waiting for the daemon that is closing a volume. It holds the lock of the volume for a while after the mount is gone, for the last
// commit and the last checkpoint, where the volume was not unmounted by umount.dedupfs.
#pragma once

#include <chrono>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// Whether to try again to open a volume that is busy.
//
// Threads: one user.
class ClosingDaemon {
 public:
  explicit ClosingDaemon(Path volume);

  // Waits a moment and returns true. Says on standard error what it waits for when that takes longer than a second. False when the volume
  // is mounted, so that nobody is closing it; when no daemon has answered for a second; and after a minute.
  bool wait();

 private:
  using Clock = std::chrono::steady_clock;

  Path volume_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_seen_ = start_;
  bool has_told_ = false;
};

// What `attempt` gives, once no daemon is closing the volume any more.
template <class Attempt>
auto when_closed(const Path& volume, const Attempt& attempt) -> decltype(attempt()) {
  ClosingDaemon closing(volume);
  for (;;) {
    auto result = attempt();
    if (result || result.error().code() != ErrorCode::kBusy || !closing.wait()) return result;
  }
}

}  // namespace dedupfs
