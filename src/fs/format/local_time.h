// Times for people, in this machine's time zone. The numbers may come from a hostile volume: a time outside of the calendar is
// shown as its number.
#pragma once

#include <cstdint>
#include <string>

namespace dedupfs {

inline constexpr std::int64_t kSecondsOfADay = 86'400;

std::string minute_text(std::int64_t unix_seconds);  // 2026-02-28 13:05
std::string second_text(std::int64_t unix_seconds);  // 2026-02-28 13:05:59

// In a unit of which there are two at least, rounded: "30 days", "25 hours", "2 minutes", "61 seconds".
std::string duration_text(std::uint64_t seconds);

}  // namespace dedupfs
