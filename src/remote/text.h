// Small things about text.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace dedupfs {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

inline std::string hex_of(ByteSpan bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace dedupfs
