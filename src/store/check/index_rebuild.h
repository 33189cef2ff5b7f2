// Makes `fingerprints` and `chunks` again from the containers alone; see docs/format.md, "Rebuilding from containers".
//
// - A damaged chunk whose fingerprint and length are known, from the directory of its region or from the old index, keeps its
//   entries. It is put on the list of damaged chunks, so that a writer of the same content can heal it. The same goes for the
//   deltas that need it.
// - A chunk that differs from its fingerprint, though every checksum is right, is put on the list and keeps no fingerprint.
// - All other damaged chunks are left out.
//
// If there are several copies of a chunk, the last one counts. That may be a delta that was stored again, but never committed.
// Its sources may be gone, or as deep as itself. Then the last copy that can be decoded counts.
//
// Threads: one at a time; nobody may write to the containers.
// Failure: damage goes to the report as notes; an Error means that the disk could not be read or written.
// Memory:  a ChunkTable, a byte for each delta and its neighbours, and 16 bytes for each older copy of a delta that was stored
//          again.
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
  // An index whose `chunks` are whole, if there is one: it knows the starts of regions, and the chunks of lost regions.
  const RecordSource* old_index = nullptr;
  // The old index is not believed about containers from this number on: they never existed.
  std::uint64_t end_of_containers = UINT64_MAX;
};

// Returns what chunks there are. `index` has neither fingerprints nor chunks yet. `progress` counts bytes of containers in pass `pass`.
Result<ChunkTable> rebuild_chunks(const ContainerStore& containers, Database& index, const RebuildHints& hints,
                                  CheckReport& report, const Progress& progress, int pass);

}  // namespace dedupfs
