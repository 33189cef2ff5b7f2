// How fast features and super-features are computed, by each method and instruction set, beside N-Transform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/isa.h"
#include "base/result.h"

namespace dedupfs::bench {

struct SpeedOptions {
  std::size_t repeat = 3;
  // What is timed: the first chunks, of so many bytes. N-Transform is so slow that a part of them has to do.
  std::size_t bytes = std::size_t{128} << 20;
  std::size_t n_transform_bytes = std::size_t{32} << 20;
};

struct SpeedRecord {
  std::string input;
  std::string input_short;
  std::string method;
  std::string isa;
  std::uint32_t avg_bytes = 0;
  std::uint64_t bytes = 0;            // timed
  double feature_seconds = 0;         // the fastest pass: what disturbs makes a pass slower
  double feature_seconds_median = 0;  // to see how much it was disturbed
  double sketch_seconds = 0;          // of features and the super-features made of them
  double n_transform_gb_per_s = 0;    // features by N-Transform in scalar code

  double feature_gb_per_s() const { return static_cast<double>(bytes) / feature_seconds / 1e9; }
  double sketch_gb_per_s() const { return static_cast<double>(bytes) / sketch_seconds / 1e9; }
  double speedup_over_n_transform() const { return feature_gb_per_s() / n_transform_gb_per_s; }
};

// A record for each method and instruction set that serves it when those of `isas` are asked for; what names the input and its
// chunks is left to the caller. All take turns, N-Transform in scalar code among them, on one thread, `repeat` times, on data
// that is in the L2 cache. There must be chunks.
// kCorruption if instruction sets give different sketches, which is a bug.
Result<std::vector<SpeedRecord>> measure_speed(std::span<const ByteSpan> chunks, std::span<const std::string> methods,
                                               std::span<const Isa> isas, const SpeedOptions& options);

}  // namespace dedupfs::bench
