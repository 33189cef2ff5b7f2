// Quotas of trees as JSON and as lines for people.
//
// Threads: free functions, safe from any thread.
// Failure: the screen throws nlohmann::json exceptions for an array that quotas_json() did not make.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "fs/inodes/quota_account.h"

namespace dedupfs {

// The documented JSON array of dedupfs-quota. `paths`: those of the directories, relative to the root of the mount; others are null.
nlohmann::json quotas_json(const std::vector<QuotaStatus>& quotas,
                           const std::map<InodeNumber, std::string>& paths = {});
std::string quotas_screen(const nlohmann::json& quotas);

}  // namespace dedupfs
