#include "fs/background/reclaimer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/guarded.h"
#include "base/low_priority.h"
#include "base/size.h"
#include "fs/background/idle_memory.h"
#include "store/reclaim/reclaim.h"

namespace dedupfs {
namespace {

// The pause before an automatic reclaim is so many times the work of the last one.
constexpr int kRests = 10;
// If settling removed nothing, the next one would not either.
constexpr std::chrono::minutes kRestAfterNothing{10};
// How often a job that waits looks whether the volume is idle, and how long it waits before it gives up for now.
constexpr std::chrono::milliseconds kIdleLookInterval{100};
constexpr std::chrono::minutes kMaxWait{1};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::optional<double> ReclaimStatus::seconds_left() const {
  constexpr double kMinProgress = 0.01;
  if (!running || waiting || progress < kMinProgress) return std::nullopt;
  return phase_seconds * (1 - progress) / progress;
}

Reclaimer::Reclaimer(Volume& volume, ReclaimHost host, Settings settings)
    : volume_(volume), host_(std::move(host)), settings_(std::move(settings)) {
  thread_ = std::thread([this] { run(); });
}

Reclaimer::~Reclaimer() {
  stop_for_good();
}

Result<void> Reclaimer::start(const ReclaimSettings& settings) {
  const MutexLock lock(mutex_);
  if (status_.running && yields_) stop_running();  // somebody else may have begun one meanwhile
  if (ending_) return Error{ErrorCode::kInterrupted, "the volume is being unmounted"};
  if (status_.running)
    return Error{ErrorCode::kBusy, fmt::format("a {} of this volume runs already{}",
                                               status_.current.goal == ReclaimGoal::kSettle ? "settling" : "reclaim",
                                               status_.paused ? ", and is paused (dedupfs-gc --resume)"
                                                              : " (dedupfs-gc --status --wait waits for it)")};
  begin(settings);
  status_.paused = false;
  changed_.notify_all();
  return {};
}

// Publishes the status.
void Reclaimer::begin(const ReclaimSettings& settings) {
  asked_ = settings;
  yields_ = settings.yields;
  status_.running = true;
  status_.waiting = false;
  status_.phase = settings.goal == ReclaimGoal::kSettle ? ReclaimPhase::kCopyForward : ReclaimPhase::kAwait;
  status_.progress = 0;
  status_.current = {.goal = settings.goal};
  begun_ = phase_begun_ = worked_since_ = Clock::now();
  worked_ = {};
  phase_lost_ = {};
  ++jobs_;
  limit_.begin_again(written_bytes());
}

void Reclaimer::set_rate(std::uint64_t bytes_per_second) {
  const MutexLock lock(mutex_);
  status_.bytes_per_second = bytes_per_second;
  limit_.set(bytes_per_second, written_bytes());
  changed_.notify_all();
}

std::uint64_t Reclaimer::written_bytes() const {
  const ReclaimFindings& current = status_.current;
  return current.moved_bytes + current.under_way_bytes + current.rebased_bytes;
}

void Reclaimer::pause() {
  const MutexLock lock(mutex_);
  status_.paused = true;
}

void Reclaimer::resume() {
  const MutexLock lock(mutex_);
  status_.paused = false;
  limit_.begin_again(written_bytes());
  changed_.notify_all();
}

void Reclaimer::stop() {
  const MutexLock lock(mutex_);
  stop_running();
}

void Reclaimer::stop_running() {
  const std::uint64_t job = jobs_;
  stopping_ = true;
  changed_.notify_all();
  changed_.wait(mutex_, [this, job]() DEDUPFS_REQUIRES(mutex_) { return !status_.running || jobs_ != job; });
  if (jobs_ == job) stopping_ = false;
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
  const Clock::duration losing = losing_since_ ? Clock::now() - *losing_since_ : Clock::duration();
  status.phase_seconds = seconds_since(phase_begun_ + phase_lost_ + losing);
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
    ended.ended_unix_seconds = std::time(nullptr);
    status_.freed_bytes += ended.findings.freed_bytes();
    note_rest(ended);
    status_.last = std::move(ended);
    status_.running = status_.waiting = false;
    changed_.notify_all();
  }
  status_.running = status_.waiting = false;
  changed_.notify_all();
}

// Waits until a reclaim is requested or due. False: the thread must end.
bool Reclaimer::await_work() {
  while (!ending_ && !asked_) {
    changed_.wait_for(mutex_, settings_.look_interval, [this]() DEDUPFS_REQUIRES(mutex_) { return ending_ || asked_; });
    if (ending_ || asked_ || status_.paused) continue;
    const auto due = find_due();
    if (due && !asked_) begin(*due);
  }
  return !ending_;
}

bool Reclaimer::is_resting(ReclaimGoal goal) const {
  return Clock::now() < (goal == ReclaimGoal::kSettle ? settling_rests_until_ : reclaim_rests_until_);
}

// Lets go of the lock meanwhile.
std::optional<ReclaimSettings> Reclaimer::find_due() {
  std::optional<ReclaimSettings> due;
  for (const ReclaimGoal goal : {ReclaimGoal::kFreeSpace, ReclaimGoal::kSettle}) {
    if (due || is_resting(goal)) continue;
    const MutexUnlock unlocked(mutex_);
    survive("looking whether a reclaim is due", [&] { due = settings_.due(goal); });
  }
  return due;
}

void Reclaimer::note_rest(const ReclaimStatus::Ended& ended) {
  worked_ += Clock::now() - worked_since_;
  if (ended.findings.goal == ReclaimGoal::kFreeSpace)
    reclaim_rests_until_ = Clock::now() + worked_ * kRests;
  else if (ended.findings.emptied_containers != 0)
    settling_rests_until_ = Clock::now() + worked_;
  else if (!ended.error || ended.error->code() != ErrorCode::kInterrupted)
    settling_rests_until_ = Clock::now() + std::max<Clock::duration>(worked_ * kRests, kRestAfterNothing);
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
    if (findings->goal == ReclaimGoal::kSettle)
      spdlog::info("settled {}: they take {} now", human_size(findings->emptied_bytes),
                   human_size(findings->stored_bytes));
    else
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

// Until no more was written than the limit allows.
void Reclaimer::wait_for_rate() {
  while (!stopping_ && !ending_) {
    const auto until = limit_.wait_until(written_bytes());
    if (!until) return;
    changed_.wait_until(mutex_, *until);
  }
}

template <class Wait>
void Reclaimer::lose_time(const Wait& wait) {
  losing_since_ = Clock::now();
  wait();
  phase_lost_ += Clock::now() - *losing_since_;
  losing_since_.reset();
}

// Waits while it is paused; one that yields, also while the volume is in use, and for its share of the time.
Result<void> Reclaimer::wait_for_turn() {
  const auto is_ending = [this]() DEDUPFS_REQUIRES(mutex_) { return stopping_ || ending_; };
  const Clock::duration worked = Clock::now() - worked_since_;
  worked_ += worked;
  wait_for_rate();
  if (status_.paused)
    lose_time([&]() DEDUPFS_REQUIRES(mutex_) {
      changed_.wait(mutex_, [&]() DEDUPFS_REQUIRES(mutex_) { return !status_.paused || is_ending(); });
    });
  if (yields_) {
    const unsigned percent = settings_.yielding_cpu_percent;
    changed_.wait_for(mutex_, worked * (100 - percent) / percent, is_ending);
    const Clock::time_point end = Clock::now() + kMaxWait;
    while (!is_ending() && !settings_.is_idle()) {
      if (Clock::now() >= end) {
        worked_since_ = end;
        return Error{ErrorCode::kInterrupted, "the volume is in use: settling goes on later"};
      }
      status_.waiting = true;
      lose_time([&]() DEDUPFS_REQUIRES(mutex_) { changed_.wait_for(mutex_, kIdleLookInterval, is_ending); });
    }
    status_.waiting = false;
  }
  worked_since_ = Clock::now();
  return is_ending() ? Result<void>(Error{ErrorCode::kInterrupted, "the reclaim was stopped"}) : Result<void>();
}

Result<void> Reclaimer::note_progress(ReclaimPhase phase, double done, const ReclaimFindings& so_far) {
  const MutexLock lock(mutex_);
  if (phase != status_.phase) {
    phase_begun_ = Clock::now();
    phase_lost_ = {};
  }
  status_.phase = phase;
  status_.progress = std::clamp(done, 0.0, 1.0);
  status_.current = so_far;
  return wait_for_turn();
}

Result<ReclaimStatus> run_reclaim(Reclaimer& reclaimer, const ReclaimSettings& settings,
                                  std::chrono::milliseconds look_interval,
                                  const std::function<bool(const ReclaimStatus&)>& goes_on) {
  DEDUPFS_TRY(reclaimer.start(settings));
  for (ReclaimStatus status = reclaimer.status();; status = reclaimer.status()) {
    if (!status.running) return status;
    if (!goes_on(status)) reclaimer.stop();
    std::this_thread::sleep_for(look_interval);
  }
}

}  // namespace dedupfs
