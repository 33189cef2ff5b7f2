// Statistics of the chunks of an input: their number, their sizes, and the savings of deduplication.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace dedupfs::bench {

// The end offsets of the chunks of each file.
using Cuts = std::vector<std::vector<std::size_t>>;

inline constexpr std::array kPercentiles = {1, 5, 25, 50, 75, 95, 99};
inline constexpr std::size_t kCdfSteps = 200;

struct ChunkStatistics {
  std::uint64_t chunks = 0;
  double mean_bytes = 0;
  std::array<std::uint64_t, kPercentiles.size()> percentiles{};
  std::vector<std::uint64_t> cdf;  // [i]: the size that i / kCdfSteps of all chunks do not exceed; [0] is the shortest
  double savings_percent = 0;
};

// `cuts` are the cuts of `files`. Chunks of all files are deduplicated together, by XXH3-128.
ChunkStatistics statistics_of(std::span<const ByteSpan> files, const Cuts& cuts);

// The smallest value that at least `percent` of all values do not exceed (nearest rank). `sorted` must not be empty.
std::uint64_t percentile(std::span<const std::uint64_t> sorted, double percent);

// Equation 1 of the VectorCDC and SeqCDC papers: (size - size after deduplication) / size.
double savings_percent(std::uint64_t bytes, std::uint64_t unique_bytes);

}  // namespace dedupfs::bench
