// Copies the snapshots of a damaged index into an empty one. In the copy, check_snapshots() finds nothing but lost content.
//
// A snapshot without all of its images would show later content. So snapshots with an unreadable image are given up. Newer ones, which
// do not need that image, stay.
//
// Order: survey_snapshots(), then the repair of the tree, which writes images of its additions, then repair_snapshots().
//
// Threads: one at a time.
// Failure: an Error means that the copy could not be written.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "fs/check/namespace_repair.h"
#include "index/database.h"
#include "index/record_source.h"
#include "store/chunks/chunk_table.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {

struct RepairedSnapshots {
  std::uint64_t end_of_numbers = 1;  // no snapshot, and no image, has this number or a higher one
  std::uint64_t end_of_chunks = 1;   // no image refers to a chunk with this id or a greater one
};

struct SnapshotSurvey {
  std::map<TreeNumber, SnapshotRecord> records;
  TreeNumber given_up_to = kLiveTree;  // snapshots up to here
  RepairedSnapshots ends;

  bool keeps_any_image() const { return given_up_to < kEndOfTrees; }
  // The snapshot number for images of the repair's additions to the tree; nothing if no snapshot is left.
  std::optional<Preservation> preservation() const;
};

// `is_whole`: both families are readable completely.
Result<SnapshotSurvey> survey_snapshots(const RecordSource& from, bool is_whole, const ChunkTable& chunks,
                                        const RepairLog& log);
// Images of `from` replace those in `to`.
Result<RepairedSnapshots> repair_snapshots(const RecordSource& from, SnapshotSurvey survey, const ChunkTable& chunks,
                                           Database& to, const RepairLog& log);

}  // namespace dedupfs
