// The size of single files, and how much of it they share with others.
//
// Threads: free functions; the volume may be in use meanwhile, since they take a snapshot.
// Cost:    one walk over the recipes of all files, another over content of snapshots if a requested file is in one, and three over
//          the recipes of the requested files. Memory: some bits for each chunk of these files.
// Failure: kNotFound for a missing inode, kInvalidArgument for an inode that is no regular file, kCorruption.
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
  std::uint64_t shared_chunks = 0;  // of these, with more than one reference: by other files, or again by this one
  std::uint64_t delta_chunks = 0;   // of the unique ones, stored as deltas
  std::uint64_t base_chunks = 0;    // not of this file, but its deltas are made from them, at whatever depth
  std::uint64_t containers = 0;     // that reading all of the file touches: of its chunks and of those bases

  std::uint64_t unique_bytes = 0;  // of the unique chunks
  std::uint64_t stored_bytes = 0;  // their bytes in containers
  // The part for chunks that no other file refers to. For a live file, files in snapshots do not count as others. For a file in a
  // snapshot, all live files count, but not its own versions in other snapshots.
  std::uint64_t own_bytes = 0;

  // The cost of reading the whole file with empty caches (store/relocation/restore_estimate.h):
  std::uint64_t regions_read = 0;
  std::uint64_t jumps = 0;
  std::uint64_t read_bytes = 0;
  double hard_disk_seconds = 0;
  double ssd_seconds = 0;
};

// For the last commit, in the order of the numbers; for a snapshot, if the number has its tree (store/metadata/tree.h).
Result<std::vector<FileStatistics>> compute_file_statistics(Volume& volume, const std::vector<InodeNumber>& files);

}  // namespace dedupfs
