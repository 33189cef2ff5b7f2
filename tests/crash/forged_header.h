// Key headers that somebody without the key can write: their checksum is right.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dedupfs {

struct ForgedHeader {
  std::string_view what;
  std::string text;
};

inline constexpr std::size_t kForgedHeaders = 16;
// `which`: below kForgedHeaders.
ForgedHeader forged_header(const std::string& good, std::size_t which);

}  // namespace dedupfs
