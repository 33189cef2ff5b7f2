// Sizes as people write them: "8k", "256m", "1g" (powers of 1024; a plain number is bytes), and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dedupfs {

Result<std::uint64_t> parse_size(std::string_view text);

// The shortest exact form that parse_size() reads back: 8192 -> "8k", 1000 -> "1000".
std::string format_size(std::uint64_t bytes);

// Rounded, for people: "1.50 GiB".
std::string human_size(std::uint64_t bytes);

}  // namespace dedupfs
