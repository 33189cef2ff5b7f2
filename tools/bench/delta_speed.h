// The speed and the size of deltas, by the codec of dedupfs and by plain xdelta3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "bench/input.h"

namespace dedupfs::bench {

struct DeltaOptions {
  double edits_per_kib = 1;
  std::size_t pairs = 200;
  std::size_t repeat = 3;
};

// A chunk and its older version.
struct DeltaPair {
  ByteSpan source;            // neighbouring pieces of the input
  std::size_t likely_offset;  // the offset of the piece in the middle
  ByteBuffer target;          // that piece, edited
};

// Pieces of `chunk_bytes` at even distances; fewer than `options.pairs` if the input is too short. An edit replaces, inserts or
// removes 12 to 28 bytes, with equal odds, at a place of a Poisson process. The pairs are the same in each run.
// Failure: kInvalidArgument if the input is shorter than one source.
Result<std::vector<DeltaPair>> delta_pairs(const Input& input, std::size_t chunk_bytes, std::size_t source_chunks,
                                           const DeltaOptions& options);

struct DeltaRecord {
  std::string input;
  std::string coder;  // "dedupfs"; "xdelta3": xd3_encode_memory() and xd3_decode_memory() without flags
  std::size_t chunk_bytes = 0;
  std::size_t source_chunks = 0;
  double edits_per_kib = 0;
  std::size_t pairs = 0;
  std::uint64_t target_bytes = 0;  // of all pairs
  std::uint64_t delta_bytes = 0;
  double encode_seconds = 0;  // of one thread, for all pairs: the fastest pass
  double decode_seconds = 0;

  double encode_mb_per_s() const { return static_cast<double>(target_bytes) / encode_seconds / 1e6; }
  double decode_mb_per_s() const { return static_cast<double>(target_bytes) / decode_seconds / 1e6; }
  double delta_percent() const { return 100 * static_cast<double>(delta_bytes) / static_cast<double>(target_bytes); }
};

// A record of dedupfs, then one of xdelta3; they take turns. kCorruption if a delta does not make its target, which is a bug.
Result<std::vector<DeltaRecord>> measure_delta(const Input& input, std::size_t chunk_bytes, std::size_t source_chunks,
                                               const DeltaOptions& options);

}  // namespace dedupfs::bench
