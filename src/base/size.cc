#include "base/size.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace dedupfs {

Result<std::uint64_t> parse_size(std::string_view text) {
  const Error bad{ErrorCode::kInvalidArgument,
                  "'" + std::string(text) + "' is not a size (examples: 4096, 8k, 256m, 1g)"};
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return bad;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  int shift = 0;
  if (unit.size() == 1) {
    switch (unit[0]) {
      case 'k':
      case 'K': shift = 10; break;
      case 'm':
      case 'M': shift = 20; break;
      case 'g':
      case 'G': shift = 30; break;
      case 't':
      case 'T': shift = 40; break;
      default: return bad;
    }
  } else if (!unit.empty()) {
    return bad;
  }
  if (value > (UINT64_MAX >> shift)) return bad;
  return value << shift;
}

std::string format_size(std::uint64_t bytes) {
  static constexpr std::string_view kUnits = "kmgt";
  int unit = -1;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < static_cast<int>(kUnits.size())) {
    bytes /= 1024;
    ++unit;
  }
  std::string text = std::to_string(bytes);
  if (unit >= 0) text.push_back(kUnits[static_cast<std::size_t>(unit)]);
  return text;
}

std::string human_size(std::uint64_t bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

}  // namespace dedupfs
