// Plain numbers that the index keeps by name, in Family::kCounters.
//
// Threads: free functions, safe from any thread.
// Failure: kCorruption names the counter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/database.h"

namespace dedupfs {

std::string encode_number(std::uint64_t number);
Result<std::uint64_t> decode_number(std::string_view counter, std::string_view value);
Result<std::optional<std::uint64_t>> get_number(const Database& index, std::string_view counter);

}  // namespace dedupfs
