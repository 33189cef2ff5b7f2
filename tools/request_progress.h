// How far a request is that a daemon works on for long, or the same work on a volume that no daemon has.
//
// Threads:   one.
// Ownership: refers to the console.
#pragma once

#include <nlohmann/json.hpp>

#include "base/backing.h"
#include "base/go_on.h"
#include "base/result.h"
#include "job_progress.h"
#include "mount/reports/jobs_report.h"
#include "process.h"

namespace dedupfs::tools {

class RequestProgress {
 public:
  RequestProgress(const Console& console, const Process& process) : progress_(console, process) {}
  ~RequestProgress() { progress_.clear(); }
  RequestProgress(const RequestProgress&) = delete;
  RequestProgress& operator=(const RequestProgress&) = delete;

  // As control_request(). With progress the daemon answers now and then, so nothing is said of a wait in a pipe.
  Result<nlohmann::json> request(const Path& volume, const nlohmann::json& request);
  // An object of job_json(). One of another form is not shown.
  void show(const nlohmann::json& job);
  // A job of this process, which is shown at once, and what shows it each time that it asks.
  RunningJobs::Job begin(std::string_view name);
  GoOn watch(const RunningJobs::Job& job);

 private:
  JobProgress progress_;
  RunningJobs jobs_;
};

}  // namespace dedupfs::tools
