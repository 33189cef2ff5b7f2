// Times that users give.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dedupfs::tools {

// Seconds since 1970 of "2026-12-24", "2026-12-24 18:00", "2026-12-24 18:00:30" (local time; the day alone begins at midnight),
// "@1798131600", or so long after `now`: "90min", "12h", "30d", "8w". kInvalidArgument for anything else.
Result<std::int64_t> parse_time(const std::string& text, std::int64_t now);
// The same, but durations lie before `now`.
Result<std::int64_t> parse_past_time(const std::string& text, std::int64_t now);

}  // namespace dedupfs::tools
