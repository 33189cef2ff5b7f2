// Decides what the service manager is told from beat to beat: whether the daemon is alive, how much longer it may take to open or to
// close its volume, and in a plain line what it is doing.
//
// A daemon is alive if it answers. If it does not, it may still wait for a slow disk or compute: it says so, and stays alive.
// Only one that neither answers nor works is silent, so that the service manager ends it.
//
// Threads: one. supervision.h runs it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace dedupfs {

// What the threads of a process do, except the one that asks.
struct ProcessWork {
  std::uint64_t processor_ticks = 0;  // used so far: it grows while they work
  bool waits_for_disk = false;        // at least one is in an uninterruptible wait (state D) right now
};
ProcessWork work_of_this_process();

class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Phase { kOpening, kServing, kClosing };

  // While it opens or closes: so much more time from each beat with work.
  static constexpr std::chrono::seconds kExtension{60};
  // Answers that take longer are worth a line.
  static constexpr std::chrono::seconds kSlowAnswer{15};
  // Work without an answer for longer than this is an endless loop. A wait for the disk has no such limit.
  static constexpr std::chrono::minutes kLongestWork{10};

  struct World {
    std::function<void(const std::string& assignments)> notify;
    std::function<ProcessWork()> work = work_of_this_process;
    std::function<Clock::time_point()> now = [] { return Clock::now(); };
  };
  explicit Heartbeat(World world) : world_(std::move(world)) {}

  // A new phase, or another line in the same phase. `extra`: further assignments, such as "READY=1".
  void enter(Phase phase, const std::string& line, const std::string& extra = {});
  // What runs beside requests while it serves, as people read it; empty: nothing. The status has it from now on.
  void note_jobs(const std::string& jobs);
  // `unanswered`: how long the probe has been waiting for its answer; nothing: it was answered.
  void beat(std::optional<Clock::duration> unanswered);
  Phase phase() const { return phase_; }

 private:
  std::string line_of_now() const { return jobs_.empty() ? line_ : line_ + "; " + jobs_; }
  void beat_at_edge(bool works, bool waits_for_disk);
  void beat_while_serving(bool works, bool waits_for_disk, std::optional<Clock::duration> unanswered);
  void say(const std::string& assignments, const std::string& status);
  void log_once(bool is_hung, const std::string& status);

  const World world_;
  Phase phase_ = Phase::kOpening;
  std::string line_;
  std::string jobs_;
  std::string said_;
  Clock::time_point since_{};
  std::uint64_t last_ticks_ = 0;
  bool logged_slow_ = false;
  bool logged_hung_ = false;
};

}  // namespace dedupfs
