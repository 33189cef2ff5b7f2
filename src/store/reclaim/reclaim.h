// Gives back the space of chunks that nothing refers to, while the volume is in use: mark, erase, sweep. See docs/design.md,
// "Reclaim".
//
//   await  what was deleted before is gone from the namespace, and that is committed.
//   mark   one bit for each chunk that a recipe refers to, and for each that such a chunk is made from. Writers who refer to a
//          chunk meanwhile mark it themselves (Liveness).
//          Chunks that only deltas need are got rid of as far as that pays: what is made from them is re-encoded (Rebase).
//   erase  what has no bit is taken out of the index, in commits of bounded size: what deltas are made from after the deltas.
//   sweep  containers with enough garbage are emptied, what is left in them moves into new ones, and are removed after the commit.
//          What the newest files refer to moves in their order, so that reading them gets quicker, not slower, with each reclaim.
//   compact  families of the index of which a good part is tombstones are written anew without them, and its log is emptied.
//
// A crash at any moment leaves chunks that nobody refers to, or a container to which nothing refers: the next reclaim takes both.
//
// Threads: one reclaim at a time; everything else goes on.
// Failure: damage is no failure: what cannot be read stays where it is. An Error ends the reclaim, and nothing is lost by it:
//          kInterrupted if it was told to stop. Erasures that could not be committed are finished by the next reclaim.
// Memory:  a bit a chunk, three while deltas are erased, and what Rebase and Sweep take while they run.
#pragma once

#include "base/result.h"
#include "store/reclaim/reclaim_types.h"
#include "store/volume/volume.h"

namespace dedupfs {

Result<ReclaimFindings> reclaim(Volume& volume, const ReclaimHost& host, const ReclaimSettings& settings,
                                const ReclaimProgress& progress);

}  // namespace dedupfs
