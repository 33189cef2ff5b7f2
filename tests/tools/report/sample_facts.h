// Facts for tests of the page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "mount/reports/share_report.h"
#include "mount/reports/snapshot_report.h"
#include "mount/reports/statistics_report.h"
#include "report/facts.h"

namespace dedupfs::tools {

inline constexpr std::int64_t kReportDay = 86'400;
inline constexpr std::int64_t kReportTime = 20'000 * kReportDay;

// A name that would run a script, close an attribute, or turn the text around.
inline const std::string kHostileName = "<script>alert(1)</script>\"' onload='x\x1b[31m\u202e\xff&amp;";

// A history of a hundred days that ends now, in which the volume has grown by 1 GiB a day.
inline ReportFacts sample_facts() {
  Statistics statistics;
  statistics.files = 1000;
  statistics.logical_bytes = 400ULL << 30;
  statistics.unique_bytes = 200ULL << 30;
  statistics.after_delta_bytes = 150ULL << 30;
  statistics.stored_bytes = 60ULL << 30;
  statistics.snapshot_only_bytes = 20ULL << 30;
  statistics.garbage_bytes = 15ULL << 30;
  statistics.index_bytes = 5ULL << 30;
  statistics.disk_bytes = 100ULL << 30;
  ScrubStatus scrub;
  scrub.last = ScrubFindings{.started_unix_seconds = kReportTime - 2 * kReportDay,
                             .ended_unix_seconds = kReportTime - 2 * kReportDay + 60,
                             .checked_bytes = 1,
                             .complete = true};
  ReportFacts facts{.volume = "/srv/volume", .unix_seconds = kReportTime};
  facts.statistics = statistics_json(statistics, Superblock{}, scrub, std::nullopt, true);
  for (std::int64_t day = 1; day <= 100; ++day) {
    const auto size = static_cast<std::uint64_t>(day) << 30;
    facts.history.push_back(
        {.unix_seconds = kReportTime + (day - 100) * kReportDay,
         .disk_bytes = size,
         .counts = HistorySample::Counts{.files = 10, .logical = 4 * size, .unique = 2 * size},
         .restore = HistorySample::RestoreSpeed{.hard_disk = 150'000'000 - static_cast<std::uint64_t>(day) * 1'000'000,
                                                .ssd = 500'000'000}});
  }
  facts.folders = folder_shares_json({{{"", {}}, {"music", {}}, {kHostileName, {}}}})[0];
  facts.folders[1]["own_bytes"] = 3ULL << 30;
  facts.folders[1]["stored_bytes"] = 4ULL << 30;
  facts.snapshots = nlohmann::json::parse(R"([
    {"name": "monday", "number": 1, "created_unix_seconds": 1727000000, "inodes": 5, "hold": null,
     "used_bytes": 5368709120, "own_bytes": 1073741824},
    {"name": "tuesday", "number": 2, "created_unix_seconds": 1727900000, "inodes": 6,
     "hold": {"until_released": true, "until_unix_seconds": null, "seconds_left": 0},
     "used_bytes": 6442450944, "own_bytes": 2147483648}])");
  facts.available_bytes = 62ULL << 30;
  return facts;
}

}  // namespace dedupfs::tools
