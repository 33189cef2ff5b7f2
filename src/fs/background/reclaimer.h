// Runs reclaims of a mounted volume, and settles it: one job at a time, on a thread of its own at low priority, on request, and
// automatically when it is due. An automatic job that yields (ReclaimSettings) waits while the volume is in use, and ends if that
// takes too long: others may have work to do.
//
// Threads:   every function from any thread.
// Ownership: the objects behind the host must outlive it; stop_for_good(), or the destructor, ends its thread.
// Failure:   a failed reclaim is logged, and in status(). No data are lost, and the next reclaim continues.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/rate_limit.h"
#include "base/result.h"
#include "store/reclaim/reclaim_types.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct ReclaimStatus {
  bool running = false;
  bool paused = false;   // the running one and the next automatic one
  bool waiting = false;  // until nobody uses the volume
  // The running reclaim:
  ReclaimPhase phase = ReclaimPhase::kAwait;
  double progress = 0;       // 0 to 1, of the phase
  double phase_seconds = 0;  // without pauses, and without waits until the volume is idle
  double seconds = 0;        // since it began
  ReclaimFindings current;
  std::uint64_t bytes_per_second = 0;  // the limit, also of later ones; 0: none
  // The last reclaim since the mount.
  struct Ended {
    ReclaimFindings findings;
    double seconds = 0;
    std::int64_t ended_unix_seconds = 0;
    std::optional<Error> error;  // the reason, if it did not finish
  };
  std::optional<Ended> last;
  std::uint64_t freed_bytes = 0;  // by all reclaims since the mount, less the moved bytes

  std::optional<double> seconds_left() const;  // an estimate for the phase, if there is one
};

class Reclaimer {
 public:
  struct Settings {
    std::chrono::milliseconds look_interval{};  // how often it asks `due`
    // The settings of a job with that goal that is due, or nothing.
    std::function<std::optional<ReclaimSettings>(ReclaimGoal)> due;
    std::function<bool()> is_idle = [] { return true; };  // false: a job that yields waits
    unsigned yielding_cpu_percent = 100;                  // the share of the time in which such a job works, 1 to 100
  };

  Reclaimer(Volume& volume, ReclaimHost host, Settings settings);
  ~Reclaimer();

  Result<void> start(const ReclaimSettings& settings);  // kBusy: a reclaim runs already, and does not yield
  void pause();                                         // takes effect between two steps; does not wait
  void resume();
  // Limits what is stored again, of the running one and of later ones. 0: no limit.
  void set_rate(std::uint64_t bytes_per_second);
  void stop();  // stops the running one, and waits for its end
  void stop_for_good();
  ReclaimStatus status() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Waits until somebody lets it go on. That time says nothing of the speed.
  template <class Wait>
  void lose_time(const Wait& wait) DEDUPFS_REQUIRES(mutex_);

  void run();
  void begin(const ReclaimSettings& settings) DEDUPFS_REQUIRES(mutex_);
  bool await_work() DEDUPFS_REQUIRES(mutex_);
  ReclaimStatus::Ended reclaim_once(const ReclaimSettings& settings);
  Result<void> note_progress(ReclaimPhase phase, double done, const ReclaimFindings& so_far);
  void stop_running() DEDUPFS_REQUIRES(mutex_);
  Result<void> wait_for_turn() DEDUPFS_REQUIRES(mutex_);
  void wait_for_rate() DEDUPFS_REQUIRES(mutex_);
  std::uint64_t written_bytes() const DEDUPFS_REQUIRES(mutex_);
  void note_rest(const ReclaimStatus::Ended& ended) DEDUPFS_REQUIRES(mutex_);
  std::optional<ReclaimSettings> find_due() DEDUPFS_REQUIRES(mutex_);
  bool is_resting(ReclaimGoal goal) const DEDUPFS_REQUIRES(mutex_);

  Volume& volume_;
  const ReclaimHost host_;
  const Settings settings_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  bool ending_ DEDUPFS_GUARDED_BY(mutex_) = false;
  bool stopping_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::optional<ReclaimSettings> asked_ DEDUPFS_GUARDED_BY(mutex_);
  bool yields_ DEDUPFS_GUARDED_BY(mutex_) = false;  // the running one
  Clock::time_point worked_since_ DEDUPFS_GUARDED_BY(mutex_);
  Clock::duration worked_ DEDUPFS_GUARDED_BY(mutex_){};  // by the running one, without its waits
  std::uint64_t jobs_ DEDUPFS_GUARDED_BY(mutex_) = 0;    // that began
  RateLimit limit_ DEDUPFS_GUARDED_BY(mutex_);           // of written_bytes()
  Clock::time_point reclaim_rests_until_ DEDUPFS_GUARDED_BY(mutex_);
  Clock::time_point settling_rests_until_ DEDUPFS_GUARDED_BY(mutex_);
  Clock::time_point begun_ DEDUPFS_GUARDED_BY(mutex_);
  Clock::time_point phase_begun_ DEDUPFS_GUARDED_BY(mutex_);
  Clock::duration phase_lost_ DEDUPFS_GUARDED_BY(mutex_){};                   // in pauses and waits that have ended
  std::optional<Clock::time_point> losing_since_ DEDUPFS_GUARDED_BY(mutex_);  // of one that goes on
  ReclaimStatus status_ DEDUPFS_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Starts a job, and returns what became of it when it has ended. Asks `goes_on` every `look_interval`: false stops the job.
Result<ReclaimStatus> run_reclaim(Reclaimer& reclaimer, const ReclaimSettings& settings,
                                  std::chrono::milliseconds look_interval,
                                  const std::function<bool(const ReclaimStatus&)>& goes_on);

}  // namespace dedupfs
