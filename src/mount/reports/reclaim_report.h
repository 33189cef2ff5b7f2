// The reclaims of a volume as JSON, and as lines for people that are made from that JSON.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "fs/background/reclaimer.h"

namespace dedupfs {

// The documented object "reclaim" of dedupfs-stat and dedupfs-gc.
nlohmann::json reclaim_json(const ReclaimStatus& status);
// Null where no reclaim can run: without a daemon, and in a read-only one.
nlohmann::json reclaim_json(const std::optional<ReclaimStatus>& status);

// What people call a phase of the JSON.
std::string shown_phase(const std::string& phase);
// Whether findings of the JSON are those of settling.
bool is_settling(const nlohmann::json& findings);

// The first line describes the running reclaim, or else the last one.
std::string reclaim_screen(const nlohmann::json& json);

}  // namespace dedupfs
