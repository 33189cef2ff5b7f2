// Jobs of a daemon that stream data to a client or from one, each in a thread of its own.
//
// Ownership: takes connections over from a ControlServer, and must outlive it.
// Threads:   every function from any thread. Jobs run at the same time.
// Failure:   a client gets the error of its job; kBusy when there are too many; kStale after end_all(). An exception ends its job
//            only.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/go_on.h"
#include "base/mutex.h"
#include "base/result.h"
#include "mount/control/cancellation.h"
#include "mount/control/control_socket.h"
#include "mount/control/control_stream.h"

namespace dedupfs {

class StreamJobs {
 public:
  static constexpr std::size_t kMaxJobs = 2;
  // With those that have ended, but whose clients take their time with the outcome.
  static constexpr std::size_t kMaxConnections = 8;

  // Calls accept() of the stream when it knows that it can begin. Then reads or writes the data, as its direction is, and returns
  // the outcome. Asks `go_on` during work without the stream.
  using Work =
      std::function<Result<nlohmann::json>(const nlohmann::json& request, ControlStream& stream, const GoOn& go_on)>;
  struct Job {
    StreamDirection direction = StreamDirection::kToClient;
    Work work;
  };
  using Jobs = std::map<std::string, Job, std::less<>>;  // by the name of the command

  // `patience`: how long a job waits for its client.
  static Result<std::unique_ptr<StreamJobs>> make(Jobs jobs, std::chrono::milliseconds patience = kStreamPatience);
  ~StreamJobs() { end_all(); }

  ControlServer::StreamHandlers handlers();
  // Call it before closing the volume: ends all jobs, waits for that, and then runs no other.
  void end_all();

 private:
  struct Running {
    std::thread thread;
    bool has_ended = false;
  };

  StreamJobs(Jobs jobs, Cancellation cancellation, std::chrono::milliseconds patience)
      : jobs_(std::move(jobs)), cancellation_(std::move(cancellation)), patience_(patience) {}
  void take(const Job& job, const nlohmann::json& request, ControlConnection connection);
  Result<void> start(const Job& job, const nlohmann::json& request, const std::shared_ptr<ControlStream>& stream);
  void run(const Job& job, const nlohmann::json& request, ControlStream& stream);

  const Jobs jobs_;
  const Cancellation cancellation_;
  const std::chrono::milliseconds patience_;

  Mutex mutex_;
  std::list<Running> threads_ DEDUPFS_GUARDED_BY(mutex_);
  std::size_t working_ DEDUPFS_GUARDED_BY(mutex_) = 0;
  bool is_ending_ DEDUPFS_GUARDED_BY(mutex_) = false;
};

}  // namespace dedupfs
