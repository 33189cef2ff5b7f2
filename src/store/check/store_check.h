// Checks the store of a volume: superblock copies, containers, regions, chunk index, fingerprints; and learns which chunks
// there are, so that recipes can be checked against them.
//
// Threads: one check at a time; nobody may write to the volume.
// Failure: damage of the volume goes to the report; an Error means that the check could not go on (kCorruption: the index cannot
//          be read).
#pragma once

#include <cstdint>
#include <unordered_set>

#include "base/result.h"
#include "store/check/check_report.h"
#include "store/chunks/chunk_table.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct StoreCheckScope {
  // True: checks every region with its payload, and every chunk against its fingerprint. False: checks headers and directories of
  // regions, the tables of the index, and whether they agree.
  bool verify_data = true;
  Progress progress = no_progress;
  int pass = 1;
};

struct CheckedStore {
  ChunkTable chunks;
  // The unreadable chunks that are damaged themselves, though every checksum is right.
  std::unordered_set<std::uint64_t> mismatched;
};

Result<CheckedStore> check_store(Volume& volume, CheckReport& report, const StoreCheckScope& scope = {});

}  // namespace dedupfs
