// The content and the savings of a volume: exact counts from a walk over the committed metadata, no estimates.
//
// The numbers follow from each other:
//   logical - holes - inline                     = data in chunks, with repetitions
//   ... / dedup_ratio                            = unique
//   unique / delta_compression_ratio             = after delta
//   after delta / local_compression_ratio        = stored
//   stored + bases + garbage + index + other     = disk
// and compression_ratio is that of the two steps from unique to stored together.
//
// SCR, DCE and DCR are those of Odess and its successors. SCR: the share of unique chunks that are stored as deltas. DCE: the share of
// their bytes that the deltas save. DCR: the resulting ratio for all unique chunks.
//
// Threads: free functions, safe beside everything; they take a snapshot.
// Cost:    reads all inodes and recipes, and all extents at least twice, and once more for each level of deltas whose sources belong
//          to no file; two bits of memory a chunk.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/go_on.h"
#include "base/result.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct Statistics {
  std::uint64_t files = 0;  // regular files
  std::uint64_t directories = 0;
  std::uint64_t symlinks = 0;
  std::uint64_t special_files = 0;

  std::uint64_t logical_bytes = 0;  // sizes of regular files; a file with several names counts once
  std::uint64_t hole_bytes = 0;     // of these, zeros that take no space
  std::uint64_t inline_bytes = 0;   // of these, kept in the index

  std::uint64_t chunks = 0;             // references of files to chunks
  std::uint64_t unique_chunks = 0;      // chunks that are referred to
  std::uint64_t duplicate_chunks = 0;   // chunks - unique_chunks
  std::uint64_t delta_chunks = 0;       // of the unique ones, stored as a delta
  std::uint64_t unique_bytes = 0;       // of unique chunks, before any compression
  std::uint64_t delta_raw_bytes = 0;    // of these, in chunks that are stored as deltas
  std::uint64_t delta_bytes = 0;        // of the deltas in their place, before compression
  std::uint64_t after_delta_bytes = 0;  // of unique chunks, a delta in place of each that is stored as one
  std::uint64_t stored_bytes = 0;       // their bytes in containers

  std::uint64_t snapshots = 0;
  std::optional<std::int64_t> last_snapshot_unix_seconds;  // the date of the newest; none that is yet to come
  std::uint64_t snapshot_only_chunks = 0;  // that files of snapshots refer to, and none of the live tree
  std::uint64_t snapshot_only_bytes = 0;   // their bytes in containers

  std::uint64_t base_only_chunks = 0;  // that no file refers to, but that deltas are made from, at whatever depth
  std::uint64_t base_only_bytes = 0;   // their bytes in containers
  std::uint64_t garbage_bytes = 0;     // the rest of the containers: chunks that no file needs, and framing of regions
  std::uint64_t index_bytes = 0;       // VOLUME/index
  // The part in tables of each Family. The rest is the log of newer commits, and RocksDB's own files.
  std::array<std::uint64_t, kFamilyCount> index_table_bytes{};
  Database::FilterMemory index_filters;
  std::uint64_t landed_bytes = 0;  // containers that are to be settled: docs/settling.md
  std::uint64_t other_bytes = 0;   // superblock, checkpoints, lock, folders
  std::uint64_t disk_bytes = 0;    // all of VOLUME, as du counts

  std::uint64_t damaged_chunks = 0;  // known to be: a read of them failed and their content has not come again
  std::uint64_t healed_chunks = 0;   // stored again since the volume was opened, because their content came again

  double savings_percent() const;  // the share of the logical bytes that the disk saves
  double dedup_ratio() const;
  double delta_compression_ratio() const;  // DCR
  double local_compression_ratio() const;
  double compression_ratio() const;
  double total_ratio() const;  // logical : disk

  double similar_chunk_ratio() const;           // SCR; 0 without chunks
  double delta_compression_efficiency() const;  // DCE; 0 without deltas
  double mean_delta_bytes() const;              // 0 without deltas
};

// Counts the last commit: sync first to count everything. An Error of `go_on` ends it.
Result<Statistics> compute_statistics(Volume& volume, GoOn go_on = nullptr);

// The size of the volume's folder, as du counts. Reads the status of every file in it, and asks `go_on` before each, whose Error ends it:
// it has no other.
Result<std::uint64_t> disk_bytes_of(const Volume& volume, const GoOn& go_on = nullptr);

// The damaged chunks that are known, without a walk.
std::uint64_t damaged_chunks_of(Volume& volume);

}  // namespace dedupfs
