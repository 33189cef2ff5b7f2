// Keeps what was written last quick to read: chunks that lie scattered over old regions are stored once more, together and in the
// order in which a stream needs them. See docs/design.md, "Fragmentation".
//
// A chunk keeps its id, so no recipe changes: the index leads to the new copy, and the old one is garbage. One that was a delta is
// stored as it is, after a comparison with its fingerprint: what it was made from is what lies scattered.
//
// Threads: one rewriting or reclaim at a time (ChunkStore::try_moving()); writers and readers go on.
// Failure: an Error of the disk or the index. What cannot be read, or is being re-encoded by somebody else, stays where it is.
// Cost:    a look-up in the index for each run that the stream needs, and reading what is stored again.
// Memory:  about 100 bytes a reference, and what is moved together (ChunkMover).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "index/database.h"
#include "store/chunks/chunk_reader.h"
#include "store/containers/container_store.h"
#include "store/ingest/region_packer.h"
#include "store/relocation/in_group.h"
#include "store/relocation/recent_references.h"

namespace dedupfs {

struct DefragmentationFindings {
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;  // of these
};

// What a stream came to refer to, all committed. Chunks of up to `percent` of a hundred of its bytes may move, and such of up to that
// part of its new bytes may be deltas no more: by so much a volume can get larger.
Result<DefragmentationFindings> defragment(const RecentReferences::Window& window, unsigned percent,
                                           const ContainerStore& containers, const Database& index,
                                           const PendingChunks& pending, ChunkReader& reader, RegionPacker& packer,
                                           const InGroup& in_group);

// Containers from this number on are young: the last quarter of those that there are by number. What was moved stays at least until
// a third more has been stored, however many streams would have it elsewhere.
std::uint32_t first_young_container(std::uint32_t first, std::uint32_t end);

}  // namespace dedupfs
