// Snapshots and clones as JSON, and snapshots as lines for people.
//
// Threads: free functions, safe from any thread.
// Failure: snapshots_of() and holds_of() throw nlohmann::json exceptions for an array that snapshots_json() did not make.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fs/namespace/filesystem.h"

namespace dedupfs {

using Holds = std::map<TreeNumber, HoldStatus>;

// The documented JSON array, in the order of the snapshots.
nlohmann::json snapshots_json(const std::vector<SnapshotRecord>& snapshots, const Holds& holds);
std::vector<SnapshotRecord> snapshots_of(const nlohmann::json& json);
Holds holds_of(const nlohmann::json& json);
// The same with the objects of snapshot_shares_json() merged into it, by their numbers.
nlohmann::json sized_snapshots_json(const std::vector<SnapshotRecord>& snapshots, const Holds& holds,
                                    const nlohmann::json& sizes);
// One line for each snapshot. `sizes` as above; empty where they are not known.
std::string snapshots_screen(const std::vector<SnapshotRecord>& snapshots, const Holds& holds,
                             const nlohmann::json& sizes);
// "held until 2026-12-24 18:00:00, for another 30 days at least"
std::string hold_text(const HoldStatus& hold);

nlohmann::json clone_json(const CloneTotals& totals);

}  // namespace dedupfs
