// What a daemon does for its volume in the background, seen from outside: its scrub, its reclaims. A request to either has an
// "action" and is answered by an object under its name, which says whether one is "running".
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

// How often somebody looks who waits for the end of one.
inline constexpr std::chrono::milliseconds kJobLookInterval{100};

// `request` without the command.
Result<nlohmann::json> ask_job(const Path& volume, const std::string& job, nlohmann::json request);

// Waits until none is running; `goes_on`, if there is one, sees each answer until then, and when it says no, nobody waits any
// longer. The last answer, which says whether one is running still.
Result<nlohmann::json> await_job(const Path& volume, const std::string& job,
                                 const std::function<bool(const nlohmann::json&)>& goes_on = nullptr);

}  // namespace dedupfs
