// Runs reclaims of a mounted volume, one at a time, on a thread of its own: when somebody asks, and by itself when much was
// deleted or the disk gets full.
//
// Threads:   every function from any thread.
// Ownership: what the Host reaches must outlive it; stop() ends its thread.
// Failure:   of a reclaim: logged, and in status(). Nothing is lost by it, and the next one goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "store/reclaim.h"

namespace dedupfs {

struct ReclaimStatus {
  bool running = false;
  bool paused = false;
  ReclaimPhase phase = ReclaimPhase::kIdle;
  double progress = 0;  // 0 to 1, of the phase
  double seconds = 0;   // since it began
  // Of the one that ended last, since the mount.
  std::optional<ReclaimFindings> last;
  std::string last_error;  // empty: it ended well
};

class Reclaimer {
 public:
  // How much may be garbage by now: bytes that files lost since the last reclaim.
  using IsDue = std::function<bool()>;

  Reclaimer(Volume& volume, ReclaimHost host, IsDue is_due, std::chrono::milliseconds look_interval);
  ~Reclaimer();

  Result<void> start();  // kBusy: one runs
  void pause();          // takes effect between two steps; nobody waits
  void resume();
  void cancel();  // the one that runs ends soon
  void stop();    // for good; waits
  ReclaimStatus status() const;

 private:
  void run();
  void reclaim_once();
  Result<void> note_progress(ReclaimPhase phase, std::uint64_t done, std::uint64_t all);

  Volume& volume_;
  const ReclaimHost host_;
  const IsDue is_due_;
  const std::chrono::milliseconds look_interval_;

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  bool stopping_ = false;
  bool cancelled_ = false;
  bool asked_ = false;
  std::chrono::steady_clock::time_point begun_{};
  ReclaimStatus status_;
  std::thread thread_;
};

}  // namespace dedupfs
