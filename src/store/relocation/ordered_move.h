// Moves chunks in the order in which somebody will read them, out of containers that are to be emptied anyway: afterwards they lie
// together, in that order.
//
// Threads: one user at a time (ChunkStore::start_moving()); writers and readers go on.
// Failure: an Error of the index, of `between`, or of who ends groups. What cannot be read stays where it is.
// Cost:    each region is read once for each batch of the order that needs it. Where that gets too much, the rest is left alone.
// Memory:  the bytes of a batch, and some 250 for each chunk of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/result.h"
#include "index/database.h"
#include "store/containers/container_store.h"
#include "store/ingest/region_packer.h"
#include "store/relocation/in_group.h"

namespace dedupfs {

// How many chunks moved out of a container.
using MovedChunks = std::map<std::uint32_t, std::uint64_t>;

// Called between batches, with the bytes that moved so far. An Error of it ends the move.
using BetweenBatches = std::function<Result<void>(std::uint64_t bytes)>;

Result<MovedChunks> move_in_order(const std::vector<ChunkId>& order, const BetweenBatches& between,
                                  const ContainerStore& containers, const Database& index, const PendingChunks& pending,
                                  RegionPacker& packer, const InGroup& in_group);

}  // namespace dedupfs
