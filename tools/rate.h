// Limits of speed that users give.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/size.h"

namespace dedupfs::tools {

// Bytes a second. kInvalidArgument, with the name of the option, for what is no size, and for a bare number that is meant as MiB.
inline Result<std::uint64_t> parse_rate(const std::string& option, const std::string& text) {
  const auto rate = parse_size(text);
  const bool has_unit = text.find_first_not_of("0123456789") != std::string::npos;
  if (rate && *rate != 0 && *rate < (1 << 20) && !has_unit)
    return invalid_argument(option + ": " + text + " is " + text + " bytes a second: write " + text + "m for " + text +
                            " MiB a second");
  if (rate) return *rate;
  return invalid_argument(option + ": '" + text +
                          "' is not a size: give bytes a second, such as 50m, or 0 for no limit");
}

}  // namespace dedupfs::tools
