// Lays runs of chunks over those that the index has: a chunk that both have was moved, and from then on is at the place of
// the run laid last. What was there is carved, so that the entries of `chunks` never overlap.
//
// Threads: one user at a time.
// Failure: kCorruption for a run of the index that does not parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/result.h"
#include "index/database.h"
#include "store/chunks/chunk_index.h"

namespace dedupfs {

// What is left of `run` without the `count` chunks from `first`: none, one or two runs.
std::vector<ChunkRun> carve(const ChunkRun& run, ChunkId first, std::size_t count);

class RunOverlay {
 public:
  // The database must outlive it, and its runs must not change but by append_to().
  explicit RunOverlay(const Database& database) : database_(database) {}

  // Returns the runs that the chunks had before, as far as `run` covers them.
  Result<std::vector<ChunkRun>> lay(ChunkRun run);
  // Takes the entries of `count` chunks away, those that are there.
  Result<void> remove(ChunkId first, std::size_t count);
  // The changes so far; the overlay is empty then, and goes on once the batch was written.
  void append_to(Database::Batch& batch);
  std::size_t runs() const { return runs_.size(); }

 private:
  Result<std::vector<ChunkRun>> make_room(std::uint64_t first, std::uint64_t end);
  Result<void> load(std::uint64_t first, std::uint64_t end);
  void load(ChunkRun run);

  const Database& database_;
  std::map<std::uint64_t, ChunkRun> runs_;  // by first id; they do not overlap
  std::set<std::uint64_t> loaded_;          // first ids of runs that were taken from the database
};

}  // namespace dedupfs
