// What resemblance detection is worth on a data set: which chunks find a base, and how small deltas get.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "bench/input.h"
#include "chunkers/chunker.h"
#include "delta/resemblance.h"

namespace dedupfs::bench {

struct UniqueChunks {
  std::vector<ByteSpan> chunks;  // of the input's memory, in the order of their first occurrence
  std::uint64_t bytes = 0;
};

// Chunks are told apart by XXH3-128, those of all files together.
UniqueChunks unique_chunks(const Input& input, const Chunker& chunker);

struct Reduction {
  std::uint64_t chunks = 0;          // unique ones
  std::uint64_t bytes = 0;           // of these
  std::uint64_t similar_chunks = 0;  // for which a base was found
  std::uint64_t delta_chunks = 0;    // whose delta is smaller than they are, and taken in their place
  std::uint64_t replaced_bytes = 0;  // of the latter
  std::uint64_t delta_bytes = 0;     // in their place

  // As the Odess+ paper defines them; 0, 0 and 1 if there is nothing to divide by.
  double similar_chunk_ratio() const;           // SCR: similar chunks / unique chunks
  double delta_compression_efficiency() const;  // DCE: 1 - bytes of deltas / bytes of the chunks that they replace
  double delta_compression_ratio() const;       // DCR: bytes of all unique chunks / bytes with deltas in place of some
};

// Chunk after chunk: the base is the first that is found when the chunk's super-features are looked up in turn, each among
// those of its rank ("first fit"). A chunk that a delta replaces is never a base, so that deltas have depth 1; all others are
// bases of those that follow.
Result<Reduction> reduce(std::span<const ByteSpan> unique, const ResemblanceDetector& detector);

struct ReductionRecord {
  std::string input;
  std::string input_short;
  std::string chunker;  // canonical spec
  std::string method;
  std::uint32_t avg_bytes = 0;
  Reduction reduction;
};

}  // namespace dedupfs::bench
