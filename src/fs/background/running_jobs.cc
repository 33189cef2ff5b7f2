#include "fs/background/running_jobs.h"

#include <algorithm>

namespace dedupfs {

std::optional<double> RunningJobs::Status::progress() const {
  if (total == 0) return std::nullopt;
  return static_cast<double>(std::min(done, total)) / static_cast<double>(total);
}

std::optional<double> RunningJobs::Status::seconds_left() const {
  constexpr double kLeastSeconds = 0.5;  // before that, the rate says nothing
  if (total == 0 || done == 0 || done >= total || seconds < kLeastSeconds) return std::nullopt;
  return seconds * static_cast<double>(total - done) / static_cast<double>(done);
}

RunningJobs::Job::Job(RunningJobs& jobs, std::string_view name) : jobs_(jobs), name_(name) {
  const MutexLock lock(jobs_.mutex_);
  jobs_.jobs_.push_back(this);
}

RunningJobs::Job::~Job() {
  const MutexLock lock(jobs_.mutex_);
  std::erase(jobs_.jobs_, this);
}

RunningJobs::Status RunningJobs::Job::status() const {
  return {.name = name_, .done = meter_.done(), .total = meter_.total(), .seconds = meter_.seconds()};
}

std::vector<RunningJobs::Status> RunningJobs::all() const {
  const MutexLock lock(mutex_);
  std::vector<Status> all;
  for (const Job* const job : jobs_) all.push_back(job->status());
  return all;
}

}  // namespace dedupfs
