// A history for tests of reports.
#pragma once

#include <cstdint>

#include "fs/history/hours.h"
#include "mount/reports/history_report.h"

namespace dedupfs {

inline constexpr std::int64_t kHistoryStart = 20'000 * kHistoryDay;

// A sample a day; the volume grows by 1 MiB a day, its files by 4 MiB.
inline History growing_history(std::int64_t days) {
  History history;
  for (std::int64_t day = 0; day < days; ++day) {
    const auto size = static_cast<std::uint64_t>(day + 1) << 20;
    history.push_back({.unix_seconds = kHistoryStart + day * kHistoryDay,
                       .disk_bytes = size,
                       .counts = HistorySample::Counts{.files = static_cast<std::uint64_t>(day) + 1,
                                                       .logical = 4 * size,
                                                       .unique = 3 * size,
                                                       .after_delta = 2 * size,
                                                       .stored = size / 2,
                                                       .kept = size / 4,
                                                       .garbage = size / 8},
                       .restore = HistorySample::RestoreSpeed{.hard_disk = 120'000'000, .ssd = 480'000'000}});
  }
  return history;
}

}  // namespace dedupfs
