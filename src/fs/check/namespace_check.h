// Checks the namespace of a volume: inodes, names, link counts, reachability, recipes, attributes; against each other and
// against the existing chunks.
//
// Threads: one check at a time; nobody may write to the volume.
// Failure: damage of the volume goes to the report. An Error means that the check could not go on.
// Cost:    about 100 bytes of memory an inode.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/check/check_report.h"
#include "store/chunks/chunk_table.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct NamespaceTotals {
  std::uint64_t inodes = 0;
  std::uint64_t directories = 0;
  std::uint64_t orphans = 0;
  std::uint64_t chunk_references = 0;
};

Result<NamespaceTotals> check_namespace(Volume& volume, const ChunkTable& chunks, CheckReport& report,
                                        const Progress& progress = no_progress, int pass = 2);

}  // namespace dedupfs
