// The disk space that a volume leaves free. So commits, deletions and reclaims still work on a full volume.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/backing.h"
#include "store/format/format.h"

namespace dedupfs {

// File data leaves all of it; names, and what a reclaim moves, leave half of it, and commits and deletions may have the rest.
inline std::uint64_t reserve_of(const Backing::Space& space) {
  return std::clamp<std::uint64_t>(space.total_bytes / 50, 8 << 20, 1 << 30);
}

// A reclaim of a full volume empties a container within half of the reserve, so there must be room for what is left in several.
inline std::uint32_t container_bytes_on(const Backing::Space& space, std::uint32_t wanted) {
  constexpr std::uint64_t kContainersInTheReserve = 4;
  const std::uint64_t most = reserve_of(space) / kContainersInTheReserve;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, most));
}

}  // namespace dedupfs
