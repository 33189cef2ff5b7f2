// Runs reclaims of a volume that is in use, one at a time, on a thread of its own at low priority: when somebody asks, and by
// itself when they are due.
//
// Threads:   every function from any thread.
// Ownership: what the host reaches must outlive it; stop_for_good(), or the destructor, ends its thread.
// Failure:   of a reclaim: logged, and in status(). Nothing is lost by it, and the next one goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "store/reclaim/reclaim_types.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct ReclaimStatus {
  bool running = false;
  bool paused = false;  // the one that runs, and the next one that would begin by itself
  // Of the one that runs:
  ReclaimPhase phase = ReclaimPhase::kAwait;
  double progress = 0;  // 0 to 1, of the phase
  double phase_seconds = 0;
  double seconds = 0;  // since it began
  ReclaimFindings current;
  // Of the one that ended last, since the mount.
  struct Ended {
    ReclaimFindings findings;
    double seconds = 0;
    std::optional<Error> error;  // why it did not get to its end
  };
  std::optional<Ended> last;
  std::uint64_t freed_bytes = 0;  // by all of them since the mount, less what was moved

  std::optional<double> seconds_left() const;  // about, of the phase, as soon as it can be told
};

class Reclaimer {
 public:
  // Nothing, or how one is to be done now.
  using Due = std::function<std::optional<ReclaimSettings>()>;

  Reclaimer(Volume& volume, ReclaimHost host, Due due, std::chrono::milliseconds look_interval);
  ~Reclaimer();

  Result<void> start(const ReclaimSettings& settings);  // kBusy: one runs already
  void pause();                                         // takes effect between two steps; nobody waits
  void resume();
  void stop();  // the one that runs, and waits until it has
  void stop_for_good();
  ReclaimStatus status() const;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void begin(const ReclaimSettings& settings);
  bool await_work(std::unique_lock<std::mutex>& lock);
  ReclaimStatus::Ended reclaim_once(const ReclaimSettings& settings);
  Result<void> note_progress(ReclaimPhase phase, double done, const ReclaimFindings& so_far);

  Volume& volume_;
  const ReclaimHost host_;
  const Due due_;
  const std::chrono::milliseconds look_interval_;

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  bool ending_ = false;
  bool stopping_ = false;
  std::optional<ReclaimSettings> asked_;
  Clock::time_point begun_{};
  Clock::time_point phase_begun_{};
  ReclaimStatus status_;
  std::thread thread_;
};

}  // namespace dedupfs
