// Gives back space while the volume is in use. Each goal takes some of these steps. See docs/reclaim.md and docs/settling.md.
//
//   kFreeSpace: all of them, for the space of chunks that nothing refers to.
//   kSettle:    copy-forward of the containers with landed chunks, which compresses them for good; compact.
//
//   await  waits until deleted files are gone from the namespace, and that is committed.
//   mark   sets one bit for each chunk that a recipe refers to, and for each of its sources. A writer that refers to a chunk
//          meanwhile marks it itself (Liveness).
//          Chunks that only deltas need are removed as far as that pays: their deltas are re-encoded (Rebase).
//   sweep  removes chunks without a bit from the index, in commits of bounded size: deltas before their sources.
//   copy-forward  empties containers with enough garbage: moves their live chunks into new containers, and removes the old ones
//          after the commit. Chunks of the newest files move in the order of these files, so that reading them gets faster with
//          each reclaim.
//   compact  rewrites families of the index that have many tombstones, and empties the index's log.
//
// What is under a former key of an encrypted volume is written anew, too: containers are emptied and families compacted, however little
// of them is garbage.
//
// A crash at any moment leaves chunks that nobody refers to, or a container to which nothing refers: the next reclaim takes both.
//
// Threads: one reclaim at a time; everything else goes on.
// Failure: damage is no failure: a chunk that cannot be read stays where it is. An Error ends the reclaim, and nothing is lost:
//          kInterrupted if it was told to stop. The next reclaim finishes erasures that could not be committed.
// Memory:  a bit a chunk, three while deltas are erased, and the memory of Rebase and CopyForward while they run.
#pragma once

#include "base/result.h"
#include "store/reclaim/reclaim_types.h"
#include "store/volume/volume.h"

namespace dedupfs {

Result<ReclaimFindings> reclaim(Volume& volume, const ReclaimHost& host, const ReclaimSettings& settings,
                                const ReclaimProgress& progress);

}  // namespace dedupfs
