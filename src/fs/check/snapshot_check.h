// Checks the snapshots of a volume: their records, and each before-image by itself, against the chunks that there are. What a
// snapshot has in common with the live tree is checked there; that the names and inodes of each snapshot fit each other is not.
//
// Threads: one check at a time; nobody may write to the volume.
// Failure: what is wrong with the volume goes to the report, losses by node; an Error means that the check could not go on.
#pragma once

#include "base/result.h"
#include "store/check/check_report.h"
#include "store/chunks/chunk_table.h"
#include "store/volume/volume.h"

namespace dedupfs {

// Whether a value can be that of a key in one of kTreeFamilies: kCorruption says why not.
Result<void> check_record_of_tree(Family family, std::string_view key, std::string_view value);

Result<void> check_snapshots(Volume& volume, const ChunkTable& chunks, CheckReport& report);

}  // namespace dedupfs
