// Gives back the space of chunks that nothing refers to, while the volume is in use: mark, erase, sweep. See docs/design.md,
// "Reclaim".
//
//   mark   one bit for each chunk that a recipe refers to, and for each that such a chunk is made from. Writers who refer to a
//          chunk meanwhile mark it themselves (Liveness).
//   erase  what has no bit is taken out of the index, in commits of bounded size: first the fingerprints of deltas, since
//          after a crash in between nobody may find a delta whose sources are gone, then everything.
//   sweep  containers with enough garbage are emptied, what is left in them moves into new ones, and are removed after the commit.
//
// A crash at any moment leaves chunks that nobody refers to, or a container to which nothing refers: the next reclaim takes both.
//
// Threads: one reclaim at a time; everything else goes on.
// Failure: damage is no failure: what cannot be read stays where it is. An Error ends the reclaim, and nothing is lost by it:
//          kInterrupted if it was told to stop.
// Memory:  a bit a chunk, and some bytes a container.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "store/volume.h"

namespace dedupfs {

// What only the owner of the volume's groups can do.
struct ReclaimHost {
  InGroup in_group;
  // All that was changed before it was called is committed; an Error if something could not be stored.
  std::function<Result<void>()> commit;
  // Visits every chunk that the committed state, as of `snapshot`, refers to; any number of times.
  std::function<Result<void>(const Database::Snapshot& snapshot, const std::function<void(ChunkId)>& visit)> references;
};

struct ReclaimSettings {
  // A container is swept if at least this share of it is garbage.
  double garbage_share = 0.25;
};

enum class ReclaimPhase : std::uint8_t { kIdle, kMark, kErase, kSweep };

struct ReclaimFindings {
  std::uint64_t live_chunks = 0;
  std::uint64_t erased_chunks = 0;
  std::uint64_t garbage_bytes = 0;  // on disk, when the sweep began
  std::uint64_t swept_containers = 0;
  std::uint64_t freed_bytes = 0;  // of containers that were removed
  std::uint64_t moved_bytes = 0;  // that had to be written anew for it, on disk
};

// `progress` is called often: of the phase, `done` of `all`; an Error ends the reclaim.
using ReclaimProgress = std::function<Result<void>(ReclaimPhase phase, std::uint64_t done, std::uint64_t all)>;

Result<ReclaimFindings> reclaim(Volume& volume, const ReclaimHost& host, const ReclaimSettings& settings,
                                const ReclaimProgress& progress);

}  // namespace dedupfs
