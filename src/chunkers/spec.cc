#include "chunkers/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/size.h"
#include "chunkers/registry.h"

namespace dedupfs {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

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
    const std::string key(item.substr(0, equals));
    const std::string_view value = item.substr(equals + 1);
    if (spec.values.contains(key) || spec.words.contains(key))
      return invalid(fmt::format("chunker spec '{}': {} is given twice", text, key));
    const bool is_word = !value.empty() && value[0] >= 'a' && value[0] <= 'z' &&
                         std::all_of(value.begin(), value.end(), is_word_character);
    if (is_word) {
      spec.words.emplace(key, value);
    } else {
      const auto number = parse_size(value);
      if (!number) return number.error().with(fmt::format("chunker spec '{}': {}", text, key));
      spec.values.emplace(key, *number);
    }
    if (comma == std::string_view::npos) return spec;
    rest.remove_prefix(comma + 1);
  }
}

Result<void> allow_only(const ChunkerSpec& spec, std::initializer_list<std::string_view> numbers,
                        std::initializer_list<std::string_view> words) {
  const auto contains = [](const auto& keys, const auto& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  std::vector<std::string_view> allowed(numbers);
  allowed.insert(allowed.end(), words.begin(), words.end());
  const auto check = [&](const std::string& key, bool is_number) -> Result<void> {
    if (contains(is_number ? numbers : words, key)) return {};
    if (contains(allowed, key))
      return invalid(fmt::format("chunker {}: {} must be a {}", spec.name, key, is_number ? "word" : "number"));
    return invalid(
        fmt::format("chunker {} has no parameter '{}' (allowed: {})", spec.name, key, comma_separated(allowed)));
  };
  for (const auto& [key, value] : spec.values) DEDUPFS_TRY(check(key, true));
  for (const auto& [key, value] : spec.words) DEDUPFS_TRY(check(key, false));
  return {};
}

Result<std::uint64_t> number_from(const ChunkerSpec& spec, std::string_view key, std::uint64_t if_absent,
                                  std::uint64_t smallest, std::uint64_t largest) {
  const std::uint64_t value = spec.find(key).value_or(if_absent);
  if (value < smallest || value > largest)
    return invalid(fmt::format("chunker {}: {}={} is out of range (allowed: {} to {})", spec.name, key,
                               format_size(value), format_size(smallest), format_size(largest)));
  return value;
}

Result<int> log2_of_avg(const ChunkerSpec& spec, const ChunkSizes& sizes, int largest) {
  const int log2 = std::countr_zero(sizes.avg_bytes);
  if (!std::has_single_bit(sizes.avg_bytes) || log2 > largest)
    return invalid(fmt::format("chunker {}: avg={} is not allowed (powers of two from {} to {})", spec.name,
                               format_size(sizes.avg_bytes), kSmallestMinChunkBytes,
                               format_size(std::uint64_t{1} << largest)));
  return log2;
}

Result<ChunkSizes> sizes_from(const ChunkerSpec& spec) {
  constexpr std::uint64_t kSmallest = kSmallestMinChunkBytes;
  constexpr std::uint64_t kLargest = kLargestMaxChunkBytes;
  // avg first: it may be what an algorithm made a wrong min or max of.
  DEDUPFS_ASSIGN(const std::uint64_t avg, number_from(spec, "avg", kDefaultAvgBytes, kSmallest, kLargest));
  DEDUPFS_ASSIGN(const std::uint64_t min, number_from(spec, "min", std::max(avg / 4, kSmallest), kSmallest, kLargest));
  DEDUPFS_ASSIGN(const std::uint64_t max, number_from(spec, "max", std::min(avg * 4, kLargest), kSmallest, kLargest));
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
