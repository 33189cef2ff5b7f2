// Times for people, in this machine's time zone. The numbers may come from a volume that somebody has made: a time that no calendar
// has is shown as the number.
#pragma once

#include <cstdint>
#include <string>

namespace dedupfs {

std::string minute_text(std::int64_t unix_seconds);  // 2026-02-28 13:05
std::string second_text(std::int64_t unix_seconds);  // 2026-02-28 13:05:59

}  // namespace dedupfs
