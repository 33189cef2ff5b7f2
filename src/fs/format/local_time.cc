#include "fs/format/local_time.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

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

}  // namespace dedupfs
