#include "point_in_time.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <ctime>
#include <optional>
#include <string_view>

namespace dedupfs::tools {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 36;  // of each unit: no sum overflows

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && number >= 0 && number <= kMost;
  return is_number ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> duration_in(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t seconds;
  };
  constexpr std::array<Unit, 5> kUnits{{{"min", 60}, {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}, {"s", 1}}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto count = number_in(text.substr(0, text.size() - unit.name.size()));
    return count ? std::optional(*count * unit.seconds) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::int64_t> calendar_time_in(const std::string& text) {
  for (const char* const format :
       {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"}) {
    std::tm parsed{};
    const char* const end = ::strptime(text.c_str(), format, &parsed);
    if (end == nullptr || *end != '\0') continue;
    std::tm normal = parsed;
    normal.tm_isdst = -1;  // as the time zone says
    const std::time_t time = std::mktime(&normal);
    if (time == -1 || normal.tm_mday != parsed.tm_mday) return std::nullopt;  // no such day
    return time;
  }
  return std::nullopt;
}

// A duration is `sign` times as long away from `now`.
Result<std::int64_t> time_in(const std::string& text, std::int64_t now, int sign) {
  std::optional<std::int64_t> time;
  if (text.starts_with('@')) {
    time = number_in(std::string_view(text).substr(1));
  } else if (const auto duration = duration_in(text)) {
    time = now + sign * *duration;
  } else {
    time = calendar_time_in(text);
  }
  if (time) return *time;
  return invalid_argument(fmt::format(
      "'{}' is not a time: give a date such as 2026-12-24 or '2026-12-24 18:00', or a duration such as 30d", text));
}

}  // namespace

Result<std::int64_t> parse_time(const std::string& text, std::int64_t now) {
  return time_in(text, now, 1);
}

Result<std::int64_t> parse_past_time(const std::string& text, std::int64_t now) {
  return time_in(text, now, -1);
}

}  // namespace dedupfs::tools
