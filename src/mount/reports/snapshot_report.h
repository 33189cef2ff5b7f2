// Snapshots and clones as dedupfs-snapshot and dedupfs-clone show them.
//
// Threads: free functions, safe from any thread.
// Failure: throws nlohmann::json exceptions if the JSON has another form.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fs/namespace/filesystem.h"

namespace dedupfs {

// The documented JSON array, in the order of the snapshots.
nlohmann::json snapshots_json(const std::vector<SnapshotRecord>& snapshots);
std::vector<SnapshotRecord> snapshots_of(const nlohmann::json& json);
// A line each.
std::string snapshots_screen(const std::vector<SnapshotRecord>& snapshots);

nlohmann::json clone_json(const CloneTotals& totals);

}  // namespace dedupfs
