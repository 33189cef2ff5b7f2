// A daemon under a service manager: it tells what it is doing and how far its background jobs are, asks for time while it opens and
// closes the volume, and answers the watchdog while it serves. Without a service manager it does nothing, and starts no thread.
//
// Threads:   opening() and closing() on any thread; the others one after the other.
// Ownership: what Serving has is called on a thread of its own from serving() to stop_probing(), so what it refers to must live so long.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "mount/supervision/heartbeat.h"
#include "mount/supervision/service_manager.h"

namespace dedupfs {

class Supervision {
 public:
  // Call it when signals are blocked and privileges given up: threads inherit both.
  explicit Supervision(ServiceManager manager);
  ~Supervision();
  Supervision(const Supervision&) = delete;
  Supervision& operator=(const Supervision&) = delete;

  void opening(const std::string& line) { enter(Heartbeat::Phase::kOpening, line, ""); }
  struct Serving {
    // Takes what requests take, and returns when the daemon has answered it.
    std::function<void()> probe;
    // What runs beside requests, in a few words; empty: nothing. One that does not return is a daemon that does not answer.
    std::function<std::string()> jobs = [] { return std::string(); };
  };
  // The mount answers (READY=1).
  void serving(const std::string& line, Serving serving);
  // Returns when a running probe has ended. None begins after that.
  void stop_probing();
  // The mount is going (STOPPING=1), or `line` says how far the closing is.
  void closing(const std::string& line);

 private:
  using Clock = Heartbeat::Clock;

  void enter(Heartbeat::Phase phase, const std::string& line, const std::string& extra);
  void beat_on();
  void ask_on();
  void ask(const std::function<void()>& question) DEDUPFS_REQUIRES(mutex_);
  Clock::duration interval() const DEDUPFS_REQUIRES(mutex_);

  const ServiceManager manager_;
  Mutex mutex_;
  ConditionVariable changed_;
  Heartbeat heartbeat_ DEDUPFS_GUARDED_BY(mutex_);
  bool ending_ DEDUPFS_GUARDED_BY(mutex_) = false;
  bool may_ask_ DEDUPFS_GUARDED_BY(mutex_) = false;
  std::optional<Clock::time_point> asking_since_ DEDUPFS_GUARDED_BY(mutex_);
  Serving serving_;  // set before its thread begins
  std::thread beats_;
  std::thread questions_;
};

}  // namespace dedupfs
