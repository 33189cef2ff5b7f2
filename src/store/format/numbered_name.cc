#include "store/format/numbered_name.h"

#include <fmt/format.h>

#include <charconv>

namespace dedupfs {

std::string numbered_name(std::uint32_t number, std::string_view suffix) {
  return fmt::format("{:010}{}", number, suffix);
}

std::optional<std::uint32_t> parse_numbered_name(std::string_view name, std::string_view suffix) {
  std::uint32_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  if (name != numbered_name(number, suffix)) return std::nullopt;
  return number;
}

}  // namespace dedupfs
