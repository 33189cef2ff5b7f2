// What a mounted volume does beside the requests of the kernel, as JSON and as a line for people.
//
// Threads: free functions, safe from any thread.
// Failure: jobs_line() throws a nlohmann::json::exception for an object of another form.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fs/background/running_jobs.h"

namespace dedupfs {

// A documented object in "jobs" of the answer to "live".
nlohmann::json job_json(const RunningJobs::Status& status);
nlohmann::json jobs_json(const std::vector<RunningJobs::Status>& jobs);

// "sending a snapshot 43 %, 12 minutes left". `job`: an object of job_json().
std::string job_text(const nlohmann::json& job);
// All that runs, such as "scrub 43 %, 12 minutes left; clone 7 %"; empty: nothing. `live` has "scrub", "reclaim" and "jobs" as the answer
// to "live". It names no file, no snapshot and no user.
std::string jobs_line(const nlohmann::json& live);

}  // namespace dedupfs
