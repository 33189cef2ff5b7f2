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

void Supervision::serving(const std::string& line, Serving serving) {
  if (!manager_) return;
  enter(Heartbeat::Phase::kServing, line, "READY=1");
  {
    const MutexLock lock(mutex_);
    may_ask_ = true;
  }
  serving_ = std::move(serving);
  questions_ = std::thread([this] { ask_on(); });
  pthread_setname_np(questions_.native_handle(), "dedupfs-probe");
}

void Supervision::stop_probing() {
  {
    const MutexLock lock(mutex_);
    may_ask_ = false;
    changed_.notify_all();
  }
  if (questions_.joinable()) questions_.join();
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
  if (manager_.watchdog().count() == 0) return kLongestBetweenBeats;
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
    const auto unanswered = asking_since_ ? std::optional(Clock::now() - *asking_since_) : std::nullopt;
    survive("telling the service manager that the daemon lives", [&] {
      mutex_.assert_held();
      heartbeat_.beat(unanswered);
    });
  }
}

// How far the jobs are, as often as there is a beat. Whether it lives, half as often as the service manager wants to hear, since a probe
// commits what is not durable yet.
void Supervision::ask_on() {
  const MutexLock lock(mutex_);
  const auto is_over = [&]() DEDUPFS_REQUIRES(mutex_) { return !may_ask_; };
  const bool has_watchdog = manager_.watchdog().count() != 0;
  Clock::time_point next_probe = Clock::now() + manager_.watchdog() / 2;
  while (!changed_.wait_for(mutex_, interval(), is_over)) {
    std::string jobs;
    ask([&] { jobs = serving_.jobs(); });
    heartbeat_.note_jobs(jobs);
    if (!has_watchdog || Clock::now() < next_probe) continue;
    ask(serving_.probe);
    next_probe = Clock::now() + manager_.watchdog() / 2;
  }
}

void Supervision::ask(const std::function<void()>& question) {
  asking_since_ = Clock::now();
  {
    const MutexUnlock unlocked(mutex_);
    survive("asking the daemon whether it lives", question);
  }
  asking_since_.reset();
}

}  // namespace dedupfs
