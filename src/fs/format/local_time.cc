#include "fs/format/local_time.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <string_view>

namespace dedupfs {
namespace {

std::string calendar_text(std::int64_t unix_seconds, const char* format) {
  const std::time_t time = unix_seconds;
  std::tm local{};
  if (::localtime_r(&time, &local) == nullptr) return fmt::format("{} s after 1970", unix_seconds);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &local)};
}

}  // namespace

std::string minute_text(std::int64_t unix_seconds) {
  return calendar_text(unix_seconds, "%Y-%m-%d %H:%M");
}

std::string second_text(std::int64_t unix_seconds) {
  return calendar_text(unix_seconds, "%Y-%m-%d %H:%M:%S");
}

std::string duration_text(std::uint64_t seconds) {
  struct Unit {
    std::uint64_t seconds;
    std::string_view name;
  };
  constexpr std::array<Unit, 4> kUnits{{{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}}};
  for (const Unit& unit : kUnits) {
    const std::uint64_t count = seconds / unit.seconds + (seconds % unit.seconds * 2 >= unit.seconds ? 1 : 0);
    if (seconds >= 2 * unit.seconds || unit.seconds == 1)
      return fmt::format("{} {}{}", count, unit.name, count == 1 ? "" : "s");
  }
  return {};
}

}  // namespace dedupfs
