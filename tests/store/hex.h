// Bytes as hexadecimal digits, for golden values that stand in a test.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace dedupfs {

inline std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace dedupfs
