#include "base/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/size.h"

namespace dedupfs {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

}  // namespace

std::optional<std::uint64_t> Spec::find(std::string_view key) const {
  const auto found = values.find(key);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

Result<Spec> parse_spec(std::string_view kind, std::string_view text) {
  const auto colon = text.find(':');
  Spec spec{.kind = std::string(kind), .name = std::string(text.substr(0, colon)), .values = {}, .words = {}};
  if (spec.name.empty())
    return invalid_argument(fmt::format("{} spec '{}' has no name (the form is NAME:key=value,...)", kind, text));
  if (colon == std::string_view::npos) return spec;

  for (std::string_view rest = text.substr(colon + 1);;) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return invalid_argument(fmt::format("{} spec '{}': '{}' is not of the form key=value", kind, text, item));
    const std::string key(item.substr(0, equals));
    const std::string_view value = item.substr(equals + 1);
    if (spec.values.contains(key) || spec.words.contains(key))
      return invalid_argument(fmt::format("{} spec '{}': {} is given twice", kind, text, key));
    const bool is_word = !value.empty() && value[0] >= 'a' && value[0] <= 'z' &&
                         std::all_of(value.begin(), value.end(), is_word_character);
    if (is_word) {
      spec.words.emplace(key, value);
    } else {
      const auto number = parse_size(value);
      if (!number) return number.error().with(fmt::format("{} spec '{}': {}", kind, text, key));
      spec.values.emplace(key, *number);
    }
    if (comma == std::string_view::npos) return spec;
    rest.remove_prefix(comma + 1);
  }
}

Result<void> allow_only(const Spec& spec, std::initializer_list<std::string_view> numbers,
                        std::initializer_list<std::string_view> words) {
  const auto contains = [](const auto& keys, const auto& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  std::vector<std::string_view> allowed(numbers);
  allowed.insert(allowed.end(), words.begin(), words.end());
  const auto check = [&](const std::string& key, bool is_number) -> Result<void> {
    if (contains(is_number ? numbers : words, key)) return {};
    if (contains(allowed, key))
      return invalid_argument(
          fmt::format("{} {}: {} must be a {}", spec.kind, spec.name, key, is_number ? "word" : "number"));
    return invalid_argument(
        fmt::format("{} {} has no parameter '{}' (allowed: {})", spec.kind, spec.name, key, comma_separated(allowed)));
  };
  for (const auto& [key, value] : spec.values) DEDUPFS_TRY(check(key, true));
  for (const auto& [key, value] : spec.words) DEDUPFS_TRY(check(key, false));
  return {};
}

Result<std::uint64_t> number_from(const Spec& spec, std::string_view key, std::uint64_t if_absent,
                                  std::uint64_t smallest, std::uint64_t largest) {
  const std::uint64_t value = spec.find(key).value_or(if_absent);
  if (value < smallest || value > largest)
    return invalid_argument(fmt::format("{} {}: {}={} is out of range (allowed: {} to {})", spec.kind, spec.name, key,
                                        format_size(value), format_size(smallest), format_size(largest)));
  return value;
}

std::string comma_separated(std::span<const std::string_view> items) {
  std::string text;
  for (const std::string_view item : items) text.append(text.empty() ? "" : ", ").append(item);
  return text;
}

}  // namespace dedupfs
