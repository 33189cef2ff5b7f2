// How far a stream of dedupfs-send or dedupfs-receive is.
//
// Threads: one.
// Ownership: refers to the console and the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/backing.h"
#include "base/result.h"
#include "job_progress.h"
#include "process.h"

namespace dedupfs::tools {

class TransferProgress {
 public:
  // `stage`: send or receive. `done`: what has become of the bytes of the stream, for people.
  TransferProgress(const Console& console, const Process& process, std::string stage, std::string done)
      : process_(process), progress_(console, process), stage_(std::move(stage)), done_(std::move(done)) {}
  ~TransferProgress() { progress_.clear(); }
  TransferProgress(const TransferProgress&) = delete;
  TransferProgress& operator=(const TransferProgress&) = delete;

  static std::string fresh_name();

  // kInterrupted if the process was asked to stop. `content_bytes` 0: not known.
  Result<void> watch(std::uint64_t stream_bytes, std::uint64_t done_bytes, std::uint64_t content_bytes);
  // The same of a stream that the daemon of the volume makes or takes: now and then, it is asked. One that does not know shows nothing.
  Result<void> watch_daemon(const Path& volume);
  // How the request to the daemon names the stream.
  const std::string& name() const { return name_; }

 private:
  void show(std::uint64_t stream_bytes, std::uint64_t done_bytes, std::uint64_t content_bytes);
  Result<void> check_stop() const;
  using Clock = std::chrono::steady_clock;

  const Process& process_;
  JobProgress progress_;
  const std::string stage_;
  const std::string done_;
  const std::string name_ = fresh_name();
  const Clock::time_point begun_ = Clock::now();
};

}  // namespace dedupfs::tools
