// What deletions would free, and what folders and snapshots take, as JSON and as lines for people.
//
// Threads: free functions, safe from any thread.
// Failure: the screens throw nlohmann::json exceptions for an object that these functions did not make.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fs/statistics/shared_space.h"

namespace dedupfs {

// The documented JSON object of dedupfs-stat --freed.
nlohmann::json deletion_json(const Share& share);
std::string deletion_screen(const nlohmann::json& deletion);

// For each directory the documented JSON array of dedupfs-stat --tree, without the paths.
nlohmann::json folder_shares_json(const std::vector<std::vector<FolderShare>>& directories);
// The lines of dedupfs-stat --tree, from the objects of all directories with a "path" in each.
std::string folder_shares_screen(const nlohmann::json& folders);

// The object of each snapshot, by its number as text.
nlohmann::json snapshot_shares_json(const std::vector<SnapshotShare>& snapshots);

}  // namespace dedupfs
