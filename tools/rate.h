// Limits of speed that users give.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/size.h"

namespace dedupfs::tools {

// Bytes a second. kInvalidArgument, with the name of the option, for what is no size.
inline Result<std::uint64_t> parse_rate(const std::string& option, const std::string& text) {
  const auto rate = parse_size(text);
  if (rate) return *rate;
  return invalid_argument(option + ": '" + text +
                          "' is not a size: give bytes a second, such as 50m, or 0 for no limit");
}

}  // namespace dedupfs::tools
