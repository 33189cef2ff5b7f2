// Waiting for the daemon that is closing a volume. It holds the lock of the volume for a while after the mount is gone, for the last
// commit and the last checkpoint, where the volume was not unmounted by umount.dedupfs.
#pragma once

#include <chrono>

#include "base/backing.h"
#include "base/result.h"
#include "mount/control/control_socket.h"
#include "mount/system/patience.h"

namespace dedupfs {

// Threads: one user.
class ClosingDaemon {
 public:
  enum class Outcome {
    kNobody,   // no daemon answers at the control socket
    kMounted,  // so nobody is closing the volume
    kClosed,   // a daemon has closed it, or is gone
    kGaveUp,   // the patience is at its end, or a minute, if the daemon does not even begin to close
  };

  // Of one that runs as root or as the user who asks, `patience` counts anew with each sign of progress.
  explicit ClosingDaemon(Path volume, Patience patience = {.limit = std::chrono::minutes(10), .say = {}});

  // If a daemon is closing the volume, waits until it has, and says so when that takes long.
  Outcome wait();
  // Whether to try again to open a volume that is busy: after wait(); or, when nobody answers, after a moment, for a second at
  // most. The lock may be that of fsck, for example, and a daemon lets go of it before its socket goes.
  bool wait_for_lock();

 private:
  Result<void> await_begin(ControlClient& daemon) const;
  Result<void> await_end(ControlClient& daemon) const;

  using Clock = std::chrono::steady_clock;

  Path volume_;
  Patience patience_;
  Clock::time_point last_seen_ = Clock::now();
};

// Waits if a daemon that could write is closing the volume; whether it can be opened then shows when that is tried. For programs
// that a signal ends here, and not any more when they have begun.
void await_closing_daemon(const Path& volume);

// What `attempt` gives, once no daemon is closing the volume any more.
template <class Attempt>
auto when_closed(const Path& volume, const Attempt& attempt) -> decltype(attempt()) {
  ClosingDaemon closing(volume);
  for (;;) {
    auto result = attempt();
    if (result || result.error().code() != ErrorCode::kBusy || !closing.wait_for_lock()) return result;
  }
}

}  // namespace dedupfs
