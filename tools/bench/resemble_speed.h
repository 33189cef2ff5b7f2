// The speed of features and super-features for each method and instruction set, compared with N-Transform.
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
  // The bytes that are timed, from the first chunk on. N-Transform is slow, and gets fewer.
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
  double feature_seconds = 0;         // of the fastest pass: a disturbance makes a pass slower
  double feature_seconds_median = 0;  // shows how much the passes were disturbed
  double sketch_seconds = 0;          // for features and super-features together
  double n_transform_gb_per_s = 0;    // features by N-Transform in scalar code

  double feature_gb_per_s() const { return static_cast<double>(bytes) / feature_seconds / 1e9; }
  double sketch_gb_per_s() const { return static_cast<double>(bytes) / sketch_seconds / 1e9; }
  double speedup_over_n_transform() const { return feature_gb_per_s() / n_transform_gb_per_s; }
};

// A record for each method and for each instruction set in use when `isas` are asked for. The caller fills in the names of the
// input. All of them and N-Transform in scalar code take turns, on one thread, `repeat` times, on data in the L2 cache. `chunks`
// must not be empty.
// Failure: kCorruption if instruction sets give different sketches, which is a bug.
Result<std::vector<SpeedRecord>> measure_speed(std::span<const ByteSpan> chunks, std::span<const std::string> methods,
                                               std::span<const Isa> isas, const SpeedOptions& options);

}  // namespace dedupfs::bench
