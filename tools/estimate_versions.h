// What each version of the same data adds to a volume, and what a further one would add: dedupfs-estimate --versions.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fs/statistics/statistics.h"

namespace dedupfs::tools {

struct VersionStep {
  std::string path;
  std::uint64_t logical_bytes = 0;  // of this version
  std::uint64_t added_bytes = 0;    // on the disk, by this version
  std::uint64_t disk_bytes = 0;     // with all versions up to this one
  double total_ratio = 0;           // of all versions up to this one
};

// `after[i]` is the settled volume with the versions up to paths[i]; `after` may be shorter.
std::vector<VersionStep> version_steps(const std::vector<std::string>& paths, const std::vector<Statistics>& after);

// From the later half of what was added after the first version.
struct VersionForecast {
  std::size_t versions = 0;  // that it stands on
  std::uint64_t mean_bytes = 0;
  std::uint64_t least_bytes = 0;
  std::uint64_t most_bytes = 0;
};
// Nothing for a single version.
std::optional<VersionForecast> forecast_of(const std::vector<VersionStep>& steps);

std::string versions_screen(const std::vector<VersionStep>& steps);
// The values of the keys "versions" and "forecast"; null without a forecast.
nlohmann::json versions_json(const std::vector<VersionStep>& steps);
nlohmann::json forecast_json(const std::vector<VersionStep>& steps);

}  // namespace dedupfs::tools
