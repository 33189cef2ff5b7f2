#include "mount/supervision/supervision.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/guarded.h"

namespace dedupfs {
namespace {

constexpr std::chrono::seconds kLongestBetweenBeats{10};
constexpr std::chrono::seconds kBetweenBeatsAtEdges{2};

}  // namespace

Supervision::Supervision(ServiceManager manager)
    : manager_(std::move(manager)),
      heartbeat_({.notify = [this](const std::string& assignments) { manager_.notify(assignments); }}) {
  if (!manager_) return;
  beats_ = std::thread([this] { beat_on(); });
  pthread_setname_np(beats_.native_handle(), "dedupfs-beat");
}

Supervision::~Supervision() {
  stop_probing();
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (beats_.joinable()) beats_.join();
}

void Supervision::enter(Heartbeat::Phase phase, const std::string& line, const std::string& extra) {
  if (!manager_) return;
  const MutexLock lock(mutex_);
  heartbeat_.enter(phase, line, extra);
  changed_.notify_all();
}

void Supervision::serving(const std::string& line, std::function<void()> probe) {
  if (!manager_) return;
  enter(Heartbeat::Phase::kServing, line, "READY=1");
  if (manager_.watchdog().count() == 0) return;
  {
    const MutexLock lock(mutex_);
    may_probe_ = true;
  }
  probe_ = std::move(probe);
  probes_ = std::thread([this] { probe_on(); });
  pthread_setname_np(probes_.native_handle(), "dedupfs-probe");
}

void Supervision::stop_probing() {
  {
    const MutexLock lock(mutex_);
    may_probe_ = false;
    changed_.notify_all();
  }
  if (probes_.joinable()) probes_.join();
}

void Supervision::closing(const std::string& line) {
  if (!manager_) return;
  const MutexLock lock(mutex_);
  const bool is_told = heartbeat_.phase() == Heartbeat::Phase::kClosing;
  heartbeat_.enter(Heartbeat::Phase::kClosing, line, is_told ? "" : "STOPPING=1");
  changed_.notify_all();
}

Supervision::Clock::duration Supervision::interval() const {
  if (heartbeat_.phase() != Heartbeat::Phase::kServing) return kBetweenBeatsAtEdges;
  return std::min<Clock::duration>(manager_.watchdog() / 2, kLongestBetweenBeats);
}

void Supervision::beat_on() {
  const MutexLock lock(mutex_);
  while (!ending_) {
    const bool is_silent = heartbeat_.phase() == Heartbeat::Phase::kServing && manager_.watchdog().count() == 0;
    if (is_silent) {
      changed_.wait(mutex_);
      continue;
    }
    const Heartbeat::Phase phase = heartbeat_.phase();
    const auto has_changed = [&]() DEDUPFS_REQUIRES(mutex_) { return ending_ || heartbeat_.phase() != phase; };
    if (changed_.wait_for(mutex_, interval(), has_changed)) continue;
    const auto unanswered = probing_since_ ? std::optional(Clock::now() - *probing_since_) : std::nullopt;
    survive("telling the service manager that the daemon lives", [&] {
      mutex_.assert_held();
      heartbeat_.beat(unanswered);
    });
  }
}

// Half as often as the service manager wants to hear, since a probe commits what is not durable yet.
void Supervision::probe_on() {
  const MutexLock lock(mutex_);
  const auto is_over = [&]() DEDUPFS_REQUIRES(mutex_) { return !may_probe_; };
  while (!changed_.wait_for(mutex_, manager_.watchdog() / 2, is_over)) {
    probing_since_ = Clock::now();
    {
      const MutexUnlock unlocked(mutex_);
      survive("asking the daemon whether it lives", probe_);
    }
    probing_since_.reset();
  }
}

}  // namespace dedupfs
