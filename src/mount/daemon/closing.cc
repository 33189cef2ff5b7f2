#include "mount/daemon/closing.h"

#include <csignal>
#include <utility>

namespace dedupfs {

Closing::Closing(World world, std::optional<Clock::time_point> signalled)
    : world_(std::move(world)), next_report_(world_.now() + kBetweenReports) {
  if (signalled) end_ = *signalled + kTimeAfterSignal;
}

bool Closing::goes_on(const std::function<std::string()>& progress) {
  const Clock::time_point now = world_.now();
  if (!end_ && world_.is_told_to_end()) end_ = now + kTimeAfterSignal;
  if (end_ && now >= *end_) return false;
  if (now >= next_report_) {
    next_report_ = now + kBetweenReports;
    world_.report(progress());
  }
  return true;
}

bool is_ending_signal_pending() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

}  // namespace dedupfs
