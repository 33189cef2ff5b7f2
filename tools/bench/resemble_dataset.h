// The savings of resemblance detection on a data set: the chunks that find a base, and the sizes of their deltas.
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
  std::vector<ByteSpan> chunks;  // in the memory of the input, in the order of their first occurrence
  std::uint64_t bytes = 0;
};

// Chunks of all files are deduplicated together, by XXH3-128.
UniqueChunks unique_chunks(const Input& input, const Chunker& chunker);

struct Reduction {
  std::uint64_t chunks = 0;          // unique chunks
  std::uint64_t bytes = 0;           // of unique chunks
  std::uint64_t similar_chunks = 0;  // with a base
  std::uint64_t delta_chunks = 0;    // replaced by a smaller delta
  std::uint64_t replaced_bytes = 0;  // of the replaced chunks
  std::uint64_t delta_bytes = 0;     // of the deltas

  // As the Odess+ paper defines them; 0, 0 and 1 if there is nothing to divide by.
  double similar_chunk_ratio() const;           // SCR: similar chunks / unique chunks
  double delta_compression_efficiency() const;  // DCE: 1 - bytes of deltas / bytes of the chunks that they replace
  double delta_compression_ratio() const;       // DCR: bytes of all unique chunks / bytes with deltas in place of some
};

// Looks up the super-features of each chunk in turn, each among those of the same rank. The first match is the base ("first
// fit"). A chunk that a delta replaces is never a base, so all deltas have depth 1. Every other chunk can be a base later.
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
