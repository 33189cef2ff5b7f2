// Lays extents over those of the index. If both have a chunk, the chunk was moved, and the extent laid last has its place. The
// older extents are cut, so that the entries of `chunks` never overlap.
//
// Threads: one user at a time.
// Failure: kCorruption for an extent of the index that does not parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "index/database.h"
#include "store/chunks/chunk_index.h"

namespace dedupfs {

// The rest of `extent` without the `count` chunks from `first`: none, one or two extents.
std::vector<ChunkExtent> carve(const ChunkExtent& extent, ChunkId first, std::size_t count);

class ExtentOverlay {
 public:
  // The database must outlive it, and its extents must not change but by append_to().
  explicit ExtentOverlay(const Database& database) : database_(database) {}

  // Returns the extents that the chunks had before, as far as `extent` covers them.
  Result<std::vector<ChunkExtent>> lay(ChunkExtent extent);
  // Takes the entries of `count` chunks away, those that are there.
  Result<void> remove(ChunkId first, std::size_t count);
  // The changes so far; the overlay is empty then, and goes on once the batch was written.
  void append_to(Database::Batch& batch);
  std::size_t extents() const { return extents_.size(); }

 private:
  Result<std::vector<ChunkExtent>> make_room(std::uint64_t first, std::uint64_t end);
  Result<void> load(std::uint64_t first, std::uint64_t end);
  void load(ChunkExtent extent);

  const Database& database_;
  std::map<std::uint64_t, ChunkExtent> extents_;   // by first id; they do not overlap
  std::map<std::uint64_t, std::uint64_t> loaded_;  // the extents that were taken from the database: first ids and ends
};

}  // namespace dedupfs
