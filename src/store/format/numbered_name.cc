#include "store/format/numbered_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dedupfs {
namespace {

constexpr std::size_t kMaxNameLength = 200;

}  // namespace

std::string numbered_name(std::uint32_t number, std::string_view suffix) {
  return fmt::format("{:010}{}", number, suffix);
}

std::optional<std::uint32_t> parse_numbered_name(std::string_view name, std::string_view suffix) {
  std::uint32_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  if (name != numbered_name(number, suffix)) return std::nullopt;
  return number;
}

bool is_plain_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  return !name.empty() && name.size() <= kMaxNameLength && name.front() != '.' && std::ranges::all_of(name, is_plain);
}

}  // namespace dedupfs
