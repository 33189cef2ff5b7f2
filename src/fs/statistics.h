// What a volume holds and what deduplication saved: counted, not estimated, by a walk over the committed metadata.
//
// Every number has one meaning, and they chain up:
//   logical - holes - inline           = what chunks hold for files (with repetitions)
//   ... / dedup_ratio                  = unique
//   unique / compression_ratio         = stored
//   stored + garbage + index + other   = disk
//
// Threads: free functions, safe beside everything; they take a snapshot.
// Cost:    reads all inodes, recipes and chunk runs; one bit of memory a chunk.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "store/volume.h"

namespace dedupfs {

struct Statistics {
  std::uint64_t files = 0;  // regular files
  std::uint64_t directories = 0;
  std::uint64_t symlinks = 0;
  std::uint64_t special_files = 0;

  std::uint64_t logical_bytes = 0;  // sizes of regular files; a file with several names counts once
  std::uint64_t hole_bytes = 0;     // of these, zeros that take no space
  std::uint64_t inline_bytes = 0;   // of these, kept in the index

  std::uint64_t chunks = 0;            // references of files to chunks
  std::uint64_t unique_chunks = 0;     // chunks that are referred to
  std::uint64_t duplicate_chunks = 0;  // chunks - unique_chunks
  std::uint64_t delta_chunks = 0;      // of the unique ones, stored as a delta
  std::uint64_t unique_bytes = 0;      // of unique chunks, before compression
  std::uint64_t stored_bytes = 0;      // what these take in containers

  std::uint64_t garbage_bytes =
      0;                          // the rest of the containers: chunks that no file refers to any more, and their frame
  std::uint64_t index_bytes = 0;  // VOLUME/index
  std::uint64_t other_bytes = 0;  // superblock, lock, folders
  std::uint64_t disk_bytes = 0;   // all of VOLUME, as du counts

  double savings_percent() const;  // of the logical bytes, what the disk does not hold
  double dedup_ratio() const;
  double compression_ratio() const;
  double total_ratio() const;  // logical : disk
};

// Of the last commit: sync first to see everything.
Result<Statistics> compute_statistics(Volume& volume);

// The documented JSON object of dedupfs-stat; `mounted` says whether a daemon has the volume.
nlohmann::json statistics_json(const Statistics& statistics, const Superblock& superblock, bool mounted);

// The screen of dedupfs-stat, from that object.
std::string statistics_screen(const nlohmann::json& json);

}  // namespace dedupfs
