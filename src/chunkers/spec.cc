#include "chunkers/spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/size.h"
#include "chunkers/registry.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kDefaultAvgBytes = 16 << 10;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

}  // namespace

std::optional<std::uint64_t> ChunkerSpec::find(std::string_view key) const {
  const auto found = values.find(key);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

Result<ChunkerSpec> parse_chunker_spec(std::string_view text) {
  const auto colon = text.find(':');
  ChunkerSpec spec{std::string(text.substr(0, colon)), {}};
  if (spec.name.empty()) return invalid(fmt::format("chunker spec '{}' lacks a name (NAME:key=value,...)", text));
  if (colon == std::string_view::npos) return spec;

  for (std::string_view rest = text.substr(colon + 1);;) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return invalid(fmt::format("chunker spec '{}': '{}' is not of the form key=value", text, item));
    const std::string_view key = item.substr(0, equals);
    const auto value = parse_size(item.substr(equals + 1));
    if (!value) return value.error().with(fmt::format("chunker spec '{}': {}", text, key));
    if (!spec.values.emplace(key, *value).second)
      return invalid(fmt::format("chunker spec '{}': {} is given twice", text, key));
    if (comma == std::string_view::npos) return spec;
    rest.remove_prefix(comma + 1);
  }
}

Result<void> allow_only(const ChunkerSpec& spec, std::initializer_list<std::string_view> allowed) {
  for (const auto& [key, value] : spec.values)
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end())
      return invalid(fmt::format("chunker {} has no parameter '{}' (allowed: {})", spec.name, key,
                                 comma_separated({allowed.begin(), allowed.size()})));
  return {};
}

Result<ChunkSizes> sizes_from(const ChunkerSpec& spec) {
  constexpr std::uint64_t kSmallest = kSmallestMinChunkBytes;
  constexpr std::uint64_t kLargest = kLargestMaxChunkBytes;
  for (const std::string_view key : {"min", "avg", "max"})
    if (const auto value = spec.find(key); value && (*value < kSmallest || *value > kLargest))
      return invalid(fmt::format("chunker {}: {}={} is out of range (allowed: {} to {})", spec.name, key,
                                 format_size(*value), format_size(kSmallest), format_size(kLargest)));

  const std::uint64_t avg = spec.find("avg").value_or(kDefaultAvgBytes);
  const std::uint64_t min = spec.find("min").value_or(std::max(avg / 4, kSmallest));
  const std::uint64_t max = spec.find("max").value_or(std::min(avg * 4, kLargest));
  if (min > avg || avg > max)
    return invalid(fmt::format("chunker {}: min={}, avg={}, max={} break min <= avg <= max", spec.name,
                               format_size(min), format_size(avg), format_size(max)));
  return ChunkSizes{static_cast<std::uint32_t>(min), static_cast<std::uint32_t>(avg), static_cast<std::uint32_t>(max)};
}

std::string format_sizes(const ChunkSizes& sizes) {
  return fmt::format("min={},avg={},max={}", format_size(sizes.min_bytes), format_size(sizes.avg_bytes),
                     format_size(sizes.max_bytes));
}

std::string comma_separated(std::span<const std::string_view> items) {
  std::string text;
  for (const std::string_view item : items) text.append(text.empty() ? "" : ", ").append(item);
  return text;
}

}  // namespace dedupfs
