// Work of a mounted volume that somebody waits for: streams, clones, walks over the whole volume. The list says what runs, and how far
// it is. Scrubs and reclaims have a status of their own.
//
// Threads:   every function from any thread.
// Ownership: the list must outlive its jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/job_meter.h"
#include "base/mutex.h"

namespace dedupfs {

class RunningJobs {
 public:
  struct Status {
    std::string_view name;
    std::uint64_t done = 0;   // in the unit of the job: bytes, names, records
    std::uint64_t total = 0;  // 0: not known
    double seconds = 0;       // since it began, or since this part of it began

    // 0 to 1, if the total is known. An estimate of the total may have been too small.
    std::optional<double> progress() const;
    std::optional<double> seconds_left() const;
  };

  // Runs until it is gone. `name` is for programs, and lives for ever.
  class Job {
   public:
    Job(RunningJobs& jobs, std::string_view name);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    JobMeter& meter() { return meter_; }
    Status status() const;

   private:
    RunningJobs& jobs_;
    const std::string_view name_;
    JobMeter meter_;
  };

  // The one that began first is the first.
  std::vector<Status> all() const;

 private:
  mutable Mutex mutex_;
  std::vector<const Job*> jobs_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
