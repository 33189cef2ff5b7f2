// Limits the time that a daemon takes to close its volume, when all changes are durable. There is no limit, except after SIGTERM or
// SIGINT: the system may be shutting down, and kill the daemon soon. Reports progress to clients that wait for the unmount.
//
// Threads: one.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace dedupfs {

class Closing {
 public:
  using Clock = std::chrono::steady_clock;
  // systemd gives 90 s between SIGTERM and SIGKILL. Closing gets a part of it.
  static constexpr std::chrono::seconds kTimeAfterSignal{60};
  static constexpr std::chrono::seconds kBetweenReports{1};

  struct World {
    std::function<bool()> is_told_to_end;                     // by a signal; stays true
    std::function<void(const std::string& progress)> report;  // to those who wait
    std::function<Clock::time_point()> now = [] { return Clock::now(); };
  };
  // `signalled`: the time of the signal that began the unmount, if a signal did.
  Closing(World world, std::optional<Clock::time_point> signalled);

  // Makes the text of the progress when a report is due. False: there is no time for the rest.
  bool goes_on(const std::function<std::string()>& progress);

 private:
  const World world_;
  std::optional<Clock::time_point> end_;
  Clock::time_point next_report_;
};

// Whether SIGTERM or SIGINT has come and waits, blocked, in this thread or process.
bool is_ending_signal_pending();

}  // namespace dedupfs
