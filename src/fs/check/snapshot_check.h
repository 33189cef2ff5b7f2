// Checks the snapshots of a volume: their records, and each before-image by itself, against the existing chunks. The check of the live
// tree covers the records that a snapshot shares with it. Nothing checks that names and inodes of a snapshot fit each other.
//
// Threads: one check at a time; nobody may write to the volume.
// Failure: damage of the volume goes to the report, losses by node. An Error means that the check could not go on.
#pragma once

#include "base/result.h"
#include "store/check/check_report.h"
#include "store/chunks/chunk_table.h"
#include "store/volume/volume.h"

namespace dedupfs {

// Checks that a value is possible for a key in one of kTreeFamilies. kCorruption says why it is not.
Result<void> check_record_of_tree(Family family, std::string_view key, std::string_view value);

Result<void> check_snapshots(Volume& volume, const ChunkTable& chunks, CheckReport& report);

}  // namespace dedupfs
