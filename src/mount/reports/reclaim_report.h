// How reclaims are shown: as JSON, and as lines made from that JSON.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "fs/background/reclaimer.h"

namespace dedupfs {

// The documented object "reclaim" of dedupfs-stat and dedupfs-gc.
nlohmann::json reclaim_json(const ReclaimStatus& status);

// The first line is about the one that runs, if one does.
std::string reclaim_screen(const nlohmann::json& json);

}  // namespace dedupfs
