// Times for tests of the history, in seconds.
#pragma once

#include <cstdint>

namespace dedupfs {

inline constexpr std::int64_t kHistoryHour = 3600;
inline constexpr std::int64_t kHistoryDay = 24 * kHistoryHour;

}  // namespace dedupfs
