// What single files take, and how much of it they share with others.
//
// Threads: free functions, safe beside everything; they take a snapshot.
// Cost:    a walk over the recipes of all files, however few are asked for, over what only snapshots have if one of a snapshot is
//          among them, and three over those of the files asked for. Memory: some bits for each chunk of these files, whatever
//          other files there are.
// Failure: kNotFound for an inode that is not there, kInvalidArgument for one that is no regular file, kCorruption.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "fs/format/types.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct FileStatistics {
  std::uint64_t logical_bytes = 0;
  std::uint64_t hole_bytes = 0;
  std::uint64_t inline_bytes = 0;

  std::uint64_t chunks = 0;         // references to chunks
  std::uint64_t unique_chunks = 0;  // different ones
  std::uint64_t shared_chunks = 0;  // of these, referred to more than once: by other files, or again by this one
  std::uint64_t delta_chunks = 0;   // of the unique ones, stored as deltas
  std::uint64_t base_chunks = 0;    // not of this file, but its deltas are made from them, at whatever depth
  std::uint64_t containers = 0;     // that reading all of the file touches: of its chunks and of those bases

  std::uint64_t unique_bytes = 0;  // of the unique chunks
  std::uint64_t stored_bytes = 0;  // what these take in containers
  // Of this, for chunks that no other file refers to. To a file outside of snapshots, what snapshots have is no other file; to
  // one in a snapshot, all others are, what it became outside of them too, but not what it was at other snapshots.
  std::uint64_t own_bytes = 0;

  // Of reading it from its start to its end, with nothing in a cache (store/relocation/restore_estimate.h):
  std::uint64_t regions_read = 0;
  std::uint64_t jumps = 0;
  std::uint64_t read_bytes = 0;
  double hard_disk_seconds = 0;
  double ssd_seconds = 0;
};

// Of the last commit, in the order of the numbers; of a snapshot, if that is the tree of the number (store/metadata/tree.h).
Result<std::vector<FileStatistics>> compute_file_statistics(Volume& volume, const std::vector<InodeNumber>& files);

}  // namespace dedupfs
