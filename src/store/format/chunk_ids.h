// The range of possible chunk ids.
#pragma once

#include <cstdint>

#include "store/format/types.h"

namespace dedupfs {

// Chunks have ids from 1 to below this: more than can ever be given away, and sums of ids do not overflow.
inline constexpr std::uint64_t kEndOfChunkIds = std::uint64_t{1} << 62;
// No volume has given away so many ids yet: a repair takes a greater id that nothing else knows for damage.
inline constexpr std::uint64_t kEndOfPlausibleChunkIds = std::uint64_t{1} << 48;

constexpr bool is_possible(ChunkId id) {
  return number_of(id) != 0 && number_of(id) < kEndOfChunkIds;
}

}  // namespace dedupfs
