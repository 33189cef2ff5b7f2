// What would come back if files, folders or snapshots were deleted, and what folders and snapshots take.
//
// Exact for what is committed, in bytes of chunks in containers: chunks of several files count once, and those that only deltas need,
// too. Beside them a deletion frees records of the index, and a reclaim compresses what it moves again.
//
// Threads: free functions; the volume may be in use meanwhile, since they take a snapshot of the index.
// Cost and memory: those of count_shares() (fs/statistics/shares.h).
// Failure: kNotFound, kInvalidArgument as said; kCorruption; kNoMemory; the Error of `go_on`, which they call now and then. `meter` gets
//          the records that were visited, and an estimate of how many there are to visit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fs/format/types.h"
#include "fs/statistics/committed_view.h"
#include "fs/statistics/shares.h"
#include "store/volume/volume.h"

namespace dedupfs {

// What is deleted together.
struct DeletedSet {
  struct Name {
    InodeNumber inode = 0;   // a directory with all that is in it, the root of a snapshot, or
    InodeNumber parent = 0;  // a file, with the directory of the name; once for each of its names there
  };
  std::vector<Name> names;
  std::vector<std::string> snapshots;
};

// kInvalidArgument for a part of a snapshot; kNotFound for what is not there.
Result<Share> compute_deletion(Volume& volume, const DeletedSet& deleted, GoOn go_on = nullptr,
                               JobMeter* meter = nullptr);

// Of each directory of the live tree with all that is in it, in the same order; nothing for what is none. All of them are counted together,
// which takes as long as one. kInvalidArgument if one lies in another.
Result<std::vector<std::optional<Share>>> compute_tree_shares(Volume& volume,
                                                              const std::vector<InodeNumber>& directories,
                                                              GoOn go_on = nullptr, JobMeter* meter = nullptr);

struct FolderShare {
  std::string name;  // empty: the directory that was asked for, with all below it
  Share share;
};
// For each directory of the live tree: itself, then its folders by name. kInvalidArgument for what is no directory, and if one of them
// lies in another.
Result<std::vector<std::vector<FolderShare>>> compute_folder_shares(Volume& volume,
                                                                    const std::vector<InodeNumber>& directories,
                                                                    GoOn go_on = nullptr, JobMeter* meter = nullptr);

struct SnapshotShare {
  TreeNumber number = 0;
  Share share;  // without counts of files
};
// The oldest first.
Result<std::vector<SnapshotShare>> compute_snapshot_shares(Volume& volume, GoOn go_on = nullptr,
                                                           JobMeter* meter = nullptr);

}  // namespace dedupfs
