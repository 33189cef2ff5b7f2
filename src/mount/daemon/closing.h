// How long a daemon may take to close its volume, once everything is durable: as long as it needs; but after SIGTERM or SIGINT
// the system may be shutting down, and kill it soon. Tells those who wait for the unmount how far it is.
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace dedupfs {

class Closing {
 public:
  using Clock = std::chrono::steady_clock;
  // systemd gives 90 s between SIGTERM and SIGKILL, and not all of them are for this.
  static constexpr std::chrono::seconds kTimeAfterSignal{60};
  static constexpr std::chrono::seconds kBetweenReports{1};

  struct World {
    std::function<bool()> is_told_to_end;                     // by a signal; stays true
    std::function<void(const std::string& progress)> report;  // to those who wait
    std::function<Clock::time_point()> now = [] { return Clock::now(); };
  };
  // `signalled`: when the signal came that began the unmount, if that was why.
  Closing(World world, std::optional<Clock::time_point> signalled);

  // So many records of the last checkpoint are written. False: there is no time for the rest.
  bool goes_on(std::uint64_t records);

 private:
  const World world_;
  std::optional<Clock::time_point> end_;
  Clock::time_point next_report_;
};

// Whether SIGTERM or SIGINT has come and waits, blocked, in this thread or process.
bool is_ending_signal_pending();

}  // namespace dedupfs
