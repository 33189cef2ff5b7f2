#include "fs/background/reclaimer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/size.h"
#include "fs/background/idle_memory.h"
#include "fs/background/low_priority.h"
#include "store/reclaim/reclaim.h"

namespace dedupfs {
namespace {

// The pause before an automatic reclaim is so many times the duration of the last one.
constexpr int kRests = 10;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::optional<double> ReclaimStatus::seconds_left() const {
  constexpr double kMinProgress = 0.01;
  if (!running || progress < kMinProgress) return std::nullopt;
  return phase_seconds * (1 - progress) / progress;
}

Reclaimer::Reclaimer(Volume& volume, ReclaimHost host, Due due, std::chrono::milliseconds look_interval)
    : volume_(volume), host_(std::move(host)), due_(std::move(due)), look_interval_(look_interval) {
  thread_ = std::thread([this] { run(); });
}

Reclaimer::~Reclaimer() {
  stop_for_good();
}

Result<void> Reclaimer::start(const ReclaimSettings& settings) {
  const MutexLock lock(mutex_);
  if (ending_) return Error{ErrorCode::kInterrupted, "the volume is being unmounted"};
  if (status_.running)
    return Error{ErrorCode::kBusy,
                 status_.paused ? "a reclaim of this volume runs already, and is paused (dedupfs-gc --resume)"
                                : "a reclaim of this volume runs already (dedupfs-gc --status --wait waits for it)"};
  begin(settings);
  status_.paused = false;
  changed_.notify_all();
  return {};
}

// Publishes the status.
void Reclaimer::begin(const ReclaimSettings& settings) {
  asked_ = settings;
  status_.running = true;
  status_.phase = ReclaimPhase::kAwait;
  status_.progress = 0;
  status_.current = {};
  begun_ = phase_begun_ = Clock::now();
}

void Reclaimer::pause() {
  const MutexLock lock(mutex_);
  status_.paused = true;
}

void Reclaimer::resume() {
  const MutexLock lock(mutex_);
  status_.paused = false;
  changed_.notify_all();
}

void Reclaimer::stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  changed_.wait(mutex_, [this]() DEDUPFS_REQUIRES(mutex_) { return !status_.running; });
  stopping_ = false;
}

void Reclaimer::stop_for_good() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

ReclaimStatus Reclaimer::status() const {
  const MutexLock lock(mutex_);
  ReclaimStatus status = status_;
  if (!status.running) return status;
  status.seconds = seconds_since(begun_);
  status.phase_seconds = seconds_since(phase_begun_);
  return status;
}

void Reclaimer::run() {
  lower_priority_of_this_thread();
  const MutexLock lock(mutex_);
  while (await_work()) {
    const ReclaimSettings settings = *std::exchange(asked_, std::nullopt);
    ReclaimStatus::Ended ended;
    {
      const MutexUnlock unlocked(mutex_);
      if (!survive("reclaim", [&] { ended = reclaim_once(settings); }))
        ended.error.emplace(ErrorCode::kNoMemory, "out of memory");
    }
    ended.seconds = seconds_since(begun_);
    status_.freed_bytes += ended.findings.freed_bytes();
    status_.last = std::move(ended);
    status_.running = false;
    changed_.notify_all();
  }
  status_.running = false;
  changed_.notify_all();
}

// Waits until a reclaim is requested or due. False: the thread must end.
bool Reclaimer::await_work() {
  const auto rested = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                                         status_.last ? status_.last->seconds * kRests : 0));
  while (!ending_ && !asked_) {
    changed_.wait_for(mutex_, look_interval_, [this]() DEDUPFS_REQUIRES(mutex_) { return ending_ || asked_; });
    if (ending_ || asked_ || status_.paused || Clock::now() < rested) continue;
    std::optional<ReclaimSettings> settings;
    {
      const MutexUnlock unlocked(mutex_);
      survive("looking whether a reclaim is due", [&] { settings = due_(); });
    }
    if (!settings || asked_) continue;
    begin(*settings);
  }
  return !ending_;
}

ReclaimStatus::Ended Reclaimer::reclaim_once(const ReclaimSettings& settings) {
  ReclaimStatus::Ended ended;
  auto findings =
      reclaim(volume_, host_, settings, [this](ReclaimPhase phase, double done, const ReclaimFindings& so_far) {
        return note_progress(phase, done, so_far);
      });
  give_back_idle_memory();
  if (findings) {
    ended.findings = *findings;
    spdlog::info("reclaim: {} chunks erased, {} containers removed, {} of disk freed, {} moved",
                 findings->erased_chunks, findings->emptied_containers, human_size(findings->freed_bytes()),
                 human_size(findings->moved_bytes));
    return ended;
  }
  const MutexLock lock(mutex_);
  ended.findings = status_.current;
  ended.error = findings.error();
  if (findings.error().code() != ErrorCode::kInterrupted) spdlog::warn("reclaim: {}", findings.error().message());
  return ended;
}

// Waits here while it is paused.
Result<void> Reclaimer::note_progress(ReclaimPhase phase, double done, const ReclaimFindings& so_far) {
  const MutexLock lock(mutex_);
  if (phase != status_.phase) phase_begun_ = Clock::now();
  status_.phase = phase;
  status_.progress = std::clamp(done, 0.0, 1.0);
  status_.current = so_far;
  changed_.wait(mutex_, [this]() DEDUPFS_REQUIRES(mutex_) { return !status_.paused || stopping_ || ending_; });
  if (stopping_ || ending_) return Error{ErrorCode::kInterrupted, "the reclaim was stopped"};
  return {};
}

}  // namespace dedupfs
