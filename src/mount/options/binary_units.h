// Units of sizes in bytes.
#pragma once

#include <cstdint>

namespace dedupfs {

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr std::uint64_t kGiB = 1 << 30;

}  // namespace dedupfs
