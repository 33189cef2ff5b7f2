#include "fs/reclaimer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/size.h"

namespace dedupfs {

Reclaimer::Reclaimer(Volume& volume, ReclaimHost host, IsDue is_due, std::chrono::milliseconds look_interval)
    : volume_(volume), host_(std::move(host)), is_due_(std::move(is_due)), look_interval_(look_interval) {
  thread_ = std::thread([this] { run(); });
}

Reclaimer::~Reclaimer() {
  stop();
}

Result<void> Reclaimer::start() {
  const std::lock_guard lock(mutex_);
  if (status_.running || asked_) return Error{ErrorCode::kBusy, "a reclaim is running already"};
  asked_ = true;
  changed_.notify_all();
  return {};
}

void Reclaimer::pause() {
  const std::lock_guard lock(mutex_);
  status_.paused = true;
}

void Reclaimer::resume() {
  const std::lock_guard lock(mutex_);
  status_.paused = false;
  changed_.notify_all();
}

void Reclaimer::cancel() {
  const std::lock_guard lock(mutex_);
  asked_ = false;
  cancelled_ = true;
  changed_.notify_all();
}

void Reclaimer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

ReclaimStatus Reclaimer::status() const {
  const std::lock_guard lock(mutex_);
  ReclaimStatus status = status_;
  if (status.running) status.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  status.running = status.running || asked_;
  return status;
}

void Reclaimer::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, look_interval_, [this] { return stopping_ || asked_; });
    if (stopping_) return;
    if (!asked_) {
      if (status_.paused) continue;
      lock.unlock();
      const bool due = is_due_();
      lock.lock();
      if (!due) continue;
    }
    asked_ = false;
    cancelled_ = false;
    status_.running = true;
    begun_ = std::chrono::steady_clock::now();
    lock.unlock();
    reclaim_once();
    lock.lock();
    status_.running = false;
    status_.phase = ReclaimPhase::kIdle;
  }
}

void Reclaimer::reclaim_once() {
  const auto findings = reclaim(volume_, host_, {}, [this](ReclaimPhase phase, std::uint64_t done, std::uint64_t all) {
    return note_progress(phase, done, all);
  });
  if (findings)
    spdlog::info("reclaim: {} chunks erased, {} containers removed, {} freed, {} moved", findings->erased_chunks,
                 findings->swept_containers, human_size(findings->freed_bytes), human_size(findings->moved_bytes));
  else if (findings.error().code() != ErrorCode::kInterrupted)
    spdlog::warn("reclaim: {}", findings.error().message());
  const std::lock_guard lock(mutex_);
  status_.last_error = findings ? "" : findings.error().message();
  if (findings) status_.last = *findings;
}

// Where it waits while it is paused.
Result<void> Reclaimer::note_progress(ReclaimPhase phase, std::uint64_t done, std::uint64_t all) {
  std::unique_lock lock(mutex_);
  status_.phase = phase;
  status_.progress = all == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
  changed_.wait(lock, [this] { return !status_.paused || stopping_ || cancelled_; });
  if (stopping_ || cancelled_) return Error{ErrorCode::kInterrupted, "the reclaim was stopped"};
  return {};
}

}  // namespace dedupfs
