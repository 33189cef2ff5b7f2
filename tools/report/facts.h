// What the page of dedupfs-report is made from.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "mount/reports/history_report.h"

namespace dedupfs::tools {

struct ReportFacts {
  std::string volume;             // its folder
  std::int64_t unix_seconds = 0;  // now
  nlohmann::json statistics;      // the object of dedupfs-stat --json
  History history;                // of at most the last ten years
  nlohmann::json folders;         // of the root: rows of dedupfs-stat --tree with "name"; the first is the root itself
  nlohmann::json snapshots;       // the array of dedupfs-snapshot list --json
  std::optional<std::uint64_t> available_bytes;  // of the disk, for new data
};

}  // namespace dedupfs::tools
