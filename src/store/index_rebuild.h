// Makes `fingerprints` and `chunks` anew from the containers alone; see docs/format.md, "Rebuilding from containers".
//
// What is damaged is left out: regions with a wrong checksum, and chunks that cannot be made because a chunk that they are
// made from is missing get no fingerprint, since new data must never be stored as a reference to them.
//
// Threads: one at a time; nobody may write to the containers.
// Failure: damage goes to the report as notes; an Error means that the disk could not be read or written.
// Memory:  a ChunkTable.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "store/check_report.h"
#include "store/chunk_table.h"
#include "store/container_store.h"
#include "store/database.h"

namespace dedupfs {

struct RebuildHints {
  // Chunks that were found not to match their fingerprint, though every checksum is right.
  std::unordered_set<std::uint64_t> unreadable;
  // By container, ascending: where regions start, as an index that is sound knows it.
  std::map<std::uint32_t, std::vector<std::uint32_t>> known_offsets;
};

struct RebuiltChunks {
  ChunkTable table;
  std::uint64_t regions = 0;
  std::uint64_t damaged_bytes = 0;  // of containers, which were left out
};

// `index` has neither fingerprints nor chunks yet. `progress` counts bytes of containers in pass `pass`.
Result<RebuiltChunks> rebuild_chunks(const ContainerStore& containers, Database& index, const RebuildHints& hints,
                                     CheckReport& report, const Progress& progress, int pass);

}  // namespace dedupfs
