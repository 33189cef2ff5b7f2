// Makes `fingerprints` and `chunks` anew from the containers alone; see docs/format.md, "Rebuilding from containers".
//
// A damaged chunk whose content somebody may bring again (its fingerprint and length are known from the directory of its
// region, or from the old index) keeps its entries and is put on the list of damaged chunks; so do the deltas that need it. A
// chunk that is not what its fingerprint says, though every checksum is right, is put on the list and keeps no fingerprint. All else that is damaged is left out.
//
// Of several copies of a chunk the last one counts, which may be a delta that was stored anew, but never committed, and be made
// from chunks that are gone, or are as deep as itself: then the last copy that can be made counts.
//
// Threads: one at a time; nobody may write to the containers.
// Failure: damage goes to the report as notes; an Error means that the disk could not be read or written.
// Memory:  a ChunkTable, a byte for each delta and its neighbours, and 16 for each older copy of one that was stored anew.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "index/database.h"
#include "index/record_source.h"
#include "store/check/check_report.h"
#include "store/chunks/chunk_table.h"
#include "store/containers/container_store.h"

namespace dedupfs {

struct RebuildHints {
  // Chunks that were found not to match their fingerprint, though every checksum is right.
  std::unordered_set<std::uint64_t> unreadable;
  // Chunks that were known to be damaged: checksums of regions do not show it in every case.
  std::vector<std::uint64_t> listed;
  // An index whose `chunks` are whole, if there is one: it knows where regions start, and what was in those that are lost.
  const RecordSource* old_index = nullptr;
  // What the old index says of containers from this one on is not believed: none was ever made.
  std::uint64_t end_of_containers = UINT64_MAX;
};

// Returns what chunks there are. `index` has neither fingerprints nor chunks yet. `progress` counts bytes of containers in pass `pass`.
Result<ChunkTable> rebuild_chunks(const ContainerStore& containers, Database& index, const RebuildHints& hints,
                                  CheckReport& report, const Progress& progress, int pass);

}  // namespace dedupfs
