// Moves what the index has in a container into regions that are being written, as it is stored: deltas stay deltas.
//
// Threads: one evacuation of a container at a time; writers and readers go on.
// Failure: kCorruption if anything that the index has there cannot be read, kBusy if somebody is storing some of it anew: what
//          was moved by then is moved, and the container must stay.
// Cost:    a look-up in the index for each run; regions in which nothing is left are not read but for their directories.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "index/database.h"
#include "store/containers/container_store.h"
#include "store/ingest/region_packer.h"
#include "store/relocation/in_group.h"

namespace dedupfs {

// Region by region, each as one change. The index has `chunks` chunks in the container.
Result<void> evacuate_container(std::uint32_t number, std::uint64_t chunks, const ContainerStore& containers,
                                const Database& index, const PendingChunks& pending, RegionPacker& packer,
                                const InGroup& in_group);

}  // namespace dedupfs
