// Background jobs of a daemon, as its clients see them: scrub and reclaim. A request has an "action". The answer holds an object
// under the name of the job, which says whether one is "running".
//
// Threads: any.
// Failure: kNotFound when no daemon serves the volume, otherwise as control_request().
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/backing.h"
#include "base/result.h"

namespace dedupfs {

// How often a waiting client asks.
inline constexpr std::chrono::milliseconds kJobLookInterval{100};

// `request` without the command.
Result<nlohmann::json> ask_job(const Path& volume, const std::string& job, nlohmann::json request);

// Waits until none is running. `goes_on`, if given, gets each answer; if it returns false, the wait ends. Returns the last answer,
// which says whether one is still running.
Result<nlohmann::json> await_job(const Path& volume, const std::string& job,
                                 const std::function<bool(const nlohmann::json&)>& goes_on = nullptr);

}  // namespace dedupfs
