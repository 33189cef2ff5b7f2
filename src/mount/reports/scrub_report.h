// The scrubs of a volume as JSON, and as lines for people that are made from that JSON.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "store/check/scrubber.h"

namespace dedupfs {

// The documented object "scrub" of dedupfs-stat and dedupfs-scrub.
nlohmann::json scrub_json(const ScrubStatus& status);

std::string scrub_screen(const nlohmann::json& json);

}  // namespace dedupfs
