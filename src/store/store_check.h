// Checks the store of a volume: superblock copies, containers, regions, chunk index, fingerprints; and learns which chunks
// there are, so that recipes can be checked against them.
//
// Threads: one check at a time; nobody may write to the volume.
// Failure: what is wrong with the volume goes to the report; an Error means that the check could not go on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "store/check_report.h"
#include "store/chunk_index.h"
#include "store/volume.h"

namespace dedupfs {

// The length of every chunk that the index knows, at four bytes a chunk.
class ChunkTable {
 public:
  // Runs come in order of ids; one that overlaps its predecessor is refused.
  bool add(const ChunkRun& run);
  std::optional<std::uint32_t> length_of(ChunkId id) const;
  std::uint64_t chunks() const { return lengths_.size(); }
  std::uint64_t end() const { return runs_.empty() ? 0 : runs_.back().end; }  // no chunk has this id or a greater one

 private:
  struct Run {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::size_t index = 0;  // of the first length
  };

  std::vector<Run> runs_;
  std::vector<std::uint32_t> lengths_;
};

// Reads every region, verifies its checksums and the fingerprint of every chunk, and compares with the index both ways.
Result<ChunkTable> check_store(Volume& volume, CheckReport& report);

}  // namespace dedupfs
