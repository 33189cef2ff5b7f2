// Snapshots and clones as JSON, and snapshots as lines for people.
//
// Threads: free functions, safe from any thread.
// Failure: snapshots_of() throws nlohmann::json exceptions for an array that snapshots_json() did not make.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fs/namespace/filesystem.h"

namespace dedupfs {

// The documented JSON array, in the order of the snapshots.
nlohmann::json snapshots_json(const std::vector<SnapshotRecord>& snapshots);
std::vector<SnapshotRecord> snapshots_of(const nlohmann::json& json);
// The same with the objects of snapshot_shares_json() merged into it, by their numbers.
nlohmann::json sized_snapshots_json(const std::vector<SnapshotRecord>& snapshots, const nlohmann::json& sizes);
// One line for each snapshot. `sizes` as above; empty where they are not known.
std::string snapshots_screen(const std::vector<SnapshotRecord>& snapshots, const nlohmann::json& sizes);

nlohmann::json clone_json(const CloneTotals& totals);

}  // namespace dedupfs
