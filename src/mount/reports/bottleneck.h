// Names what keeps data from being written faster to a mount.
//
// Threads: free functions, safe from any thread.
// Failure: a nlohmann::json::exception for an object that live_rates() did not make.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dedupfs {

// One sentence. `rates`: of live_rates(), which has the sentence under "bottleneck".
std::string bottleneck_of(const nlohmann::json& rates);

}  // namespace dedupfs
