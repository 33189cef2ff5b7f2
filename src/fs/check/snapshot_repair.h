// Copies the snapshots of an index that may be damaged into an empty one, so that check_snapshots() has nothing to say of the
// copy but which content is lost.
//
// A snapshot without all of its images would show what came later as if it had been there then. So snapshots of which an image
// cannot be read are given up; newer ones, which do not need that image, stay.
//
// First comes survey_snapshots(), then the repair of the tree, which keeps images of what it adds, then repair_snapshots().
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
  // Under which number images of what the repair adds to the tree belong; nothing if no snapshot is left that would see it.
  std::optional<Preservation> preservation() const;
};

// `is_whole`: all that there was of both families can be read.
Result<SnapshotSurvey> survey_snapshots(const RecordSource& from, bool is_whole, const ChunkTable& chunks,
                                        const RepairLog& log);
// Images that are there already, in `to`, give way to those of `from`.
Result<RepairedSnapshots> repair_snapshots(const RecordSource& from, SnapshotSurvey survey, const ChunkTable& chunks,
                                           Database& to, const RepairLog& log);

}  // namespace dedupfs
