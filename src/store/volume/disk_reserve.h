// The disk space that a volume leaves free. So commits, deletions and reclaims still work on a full volume.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/backing.h"
#include "store/format/format.h"

namespace dedupfs {

// File data leaves all of it free. Names, and the chunks that a reclaim moves, leave half of it. Commits and deletions may use
// the rest.
inline std::uint64_t reserve_of(const Backing::Space& space) {
  return std::clamp<std::uint64_t>(space.total_bytes / 50, 8 << 20, 1 << 30);
}

// A reclaim of a full volume empties a container within half of the reserve. So the live chunks of several containers must fit
// there.
inline std::uint32_t container_bytes_on(const Backing::Space& space, std::uint32_t wanted) {
  constexpr std::uint64_t kContainersInTheReserve = 4;
  const std::uint64_t most = reserve_of(space) / kContainersInTheReserve;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, most));
}

}  // namespace dedupfs
