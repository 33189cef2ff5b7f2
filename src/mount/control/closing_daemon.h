// Waits for a daemon that is closing a volume. The daemon holds the lock of the volume for a while after the mount is gone, for the
// last commit and the last checkpoint, unless umount.dedupfs unmounted the volume.
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
    kMounted,  // the volume is in use, not closing
    kClosed,   // the daemon has closed it, or is gone
    kGaveUp,   // the time limit passed, or one minute if the daemon does not begin to close
  };

  // For a daemon of root or of the caller's user, each sign of progress restarts the time limit.
  explicit ClosingDaemon(Path volume, Patience patience = {.limit = std::chrono::minutes(10), .say = {}});

  // If a daemon is closing the volume, waits until it has, and says so when that takes long.
  Outcome wait();
  // Whether to try again to open a busy volume. True after wait(). If no daemon answers, true after a moment, for one second at
  // most: the lock may be that of fsck, and a daemon releases the lock before it removes its socket. For half a minute if all who have it
  // only read, as dedupfs-stat does of a volume that is not mounted: they come to their end.
  bool wait_for_lock();

 private:
  Result<void> await_begin(ControlClient& daemon) const;
  Result<void> await_end(ControlClient& daemon) const;

  using Clock = std::chrono::steady_clock;

  Path volume_;
  Patience patience_;
  Clock::time_point last_seen_ = Clock::now();
};

// Waits while a daemon with write access closes the volume. The caller then tries to open it. For programs that a signal may end
// during this wait, but not later.
void await_closing_daemon(const Path& volume);

// The same error of a volume that is in use, with the place where it is mounted, if it is.
Error with_place(const Error& busy, const Path& volume);

// Runs `attempt` when no daemon is closing the volume any more, and returns its result.
template <class Attempt>
auto when_closed(const Path& volume, const Attempt& attempt) -> decltype(attempt()) {
  ClosingDaemon closing(volume);
  for (;;) {
    auto result = attempt();
    if (result || result.error().code() != ErrorCode::kBusy) return result;
    if (!closing.wait_for_lock()) return with_place(result.error(), volume);
  }
}

}  // namespace dedupfs
