// What groups of files and snapshots take: all that they need, and the part that nobody else needs.
//
// A group needs the chunks that it refers to, and those that they are made from, at whatever depth.
//
// Threads: free functions; the volume may be in use meanwhile, since the view is a snapshot.
// Cost:    a walk over all recipes and before-images and one over the names for each 32 groups, and one more; walks over all extents
//          for each level of deltas.
// Memory:  sets of chunks (store/chunks/chunk_set.h), twice ChunkSet::limit_for() at most.
// Failure: as CommittedView; kNoMemory; the Error of GoOn.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "fs/statistics/committed_view.h"
#include "fs/statistics/file_labels.h"
#include "fs/statistics/labels.h"

namespace dedupfs {

// Bytes in containers, but for the files.
struct Share {
  std::uint64_t files = 0;  // regular files of the live tree; one with several names counts once
  std::uint64_t logical_bytes = 0;
  std::uint64_t shared_files = 0;  // of the files, those that have a name elsewhere, too
  std::uint64_t stored_bytes = 0;  // of all chunks that it needs
  std::uint64_t own_bytes = 0;     // of those that nobody else needs: what comes back if it goes
  // Of those that nobody else refers to, but that chunks of others are made from. When the group goes, a reclaim may store these chunks
  // in another way and free a part of it.
  std::uint64_t held_bytes = 0;
};

struct Sharers {
  GroupTree groups;
  std::optional<FileLabels> files;  // none: all files of the live tree are others'
  std::vector<Label> snapshots;     // by their position in CommittedView::snapshots()
};

// Tells the view's meter how many records labels of files and count_shares() will visit, about: how often the extents are walked over
// depends on the deltas. Call it when the groups are there.
void expect_walks(const CommittedView& view, const Sharers& sharers);

// By the positions of the groups.
Result<std::vector<Share>> count_shares(const CommittedView& view, const Sharers& sharers, std::uint64_t max_bytes);

}  // namespace dedupfs
