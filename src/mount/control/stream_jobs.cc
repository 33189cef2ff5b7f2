#include "mount/control/stream_jobs.h"

#include <fmt/format.h>

#include <utility>

#include "base/guarded.h"

namespace dedupfs {
namespace {

using Json = nlohmann::json;

Error too_many(std::size_t jobs) {
  return {ErrorCode::kBusy, fmt::format("{} streams of this volume are running: try again when one has ended", jobs)};
}

}  // namespace

Result<std::unique_ptr<StreamJobs>> StreamJobs::make(Jobs jobs, std::chrono::milliseconds patience) {
  DEDUPFS_ASSIGN(Cancellation cancellation, Cancellation::make());
  return std::unique_ptr<StreamJobs>(new StreamJobs(std::move(jobs), std::move(cancellation), patience));
}

ControlServer::StreamHandlers StreamJobs::handlers() {
  ControlServer::StreamHandlers handlers;
  for (const auto& [name, job] : jobs_)
    handlers[name] = [this, &job = job](const Json& request, ControlConnection connection) {
      take(job, request, std::move(connection));
    };
  return handlers;
}

void StreamJobs::take(const Job& job, const Json& request, ControlConnection connection) {
  const auto stream = std::make_shared<ControlStream>(std::move(connection), job.direction, cancellation_, patience_);
  if (const auto started = start(job, request, stream); !started) stream->refuse(started.error());
}

Result<void> StreamJobs::start(const Job& job, const Json& request, const std::shared_ptr<ControlStream>& stream) {
  const MutexLock lock(mutex_);
  if (is_ending_) return Error{ErrorCode::kStale, "the volume is being unmounted"};
  threads_.remove_if([](Running& running) {
    if (running.has_ended) running.thread.join();  // has nothing left to do
    return running.has_ended;
  });
  if (working_ == kMaxJobs || threads_.size() == kMaxConnections) return too_many(threads_.size());
  Running& running = threads_.emplace_back();
  auto started = guarded([&]() -> Result<void> {
    running.thread = std::thread([this, &running, &job, request, mine = stream]() mutable {
      run(job, request, *mine);
      mine.reset();  // closes the connection
      const MutexLock ended(mutex_);
      running.has_ended = true;
    });
    return {};
  });
  if (started)
    ++working_;
  else
    threads_.pop_back();
  return started;
}

// Its place is free before the client knows the outcome: the client may come again at once.
void StreamJobs::run(const Job& job, const Json& request, ControlStream& stream) {
  const Result<Json> outcome =
      guarded_answer([&] { return job.work(request, stream, [&stream] { return stream.check_wanted(); }); });
  {
    const MutexLock lock(mutex_);
    --working_;
  }
  survive("the outcome of a stream", [&] { (void)stream.finish(outcome); });
}

void StreamJobs::end_all() {
  std::list<Running> ending;
  {
    const MutexLock lock(mutex_);
    is_ending_ = true;
    ending.splice(ending.end(), threads_);
  }
  cancellation_.cancel();
  for (Running& running : ending) running.thread.join();
}

}  // namespace dedupfs
