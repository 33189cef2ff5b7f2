// How fast a volume grows, from its history, and when its disk will be full.
//
// The speed is the median of the slopes between all pairs of days (Theil and Sen) of the last kDaysOfGrowth days, or of the last
// kSamplesOfGrowth days that have samples, if these go back further. So one day with a large import, or one with a reclaim, does not
// decide.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/format/history_records.h"

namespace dedupfs {

struct Growth {
  double bytes_per_day = 0;  // less than 0: it shrinks
  std::int64_t days = 0;     // that it comes from
};

inline constexpr std::int64_t kDaysOfGrowth = 60;
inline constexpr std::size_t kSamplesOfGrowth = 10;

// None where there are fewer than three days with samples. `history` is in order of time.
std::optional<Growth> growth_of(const std::vector<HistorySample>& history);

// None: it does not grow, or the disk lasts for more than a hundred years.
std::optional<double> days_until_full(const Growth& growth, std::uint64_t available_bytes);

// "Grows by 1.50 GiB a day (median of 31 days)."
std::string growth_text(const Growth& growth);

}  // namespace dedupfs
