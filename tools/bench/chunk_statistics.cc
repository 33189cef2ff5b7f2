#include "bench/chunk_statistics.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <compare>

namespace dedupfs::bench {
namespace {

struct Identity {
  std::uint64_t high;
  std::uint64_t low;
  std::uint64_t bytes;

  auto operator<=>(const Identity&) const = default;
};

}  // namespace

ChunkStatistics statistics_of(std::span<const ByteSpan> files, const Cuts& cuts) {
  std::vector<Identity> chunks;
  std::vector<std::uint64_t> sizes;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::size_t start = 0;
    for (const std::size_t end : cuts[i]) {
      const XXH128_hash_t hash = XXH3_128bits(files[i].data() + start, end - start);
      chunks.push_back({hash.high64, hash.low64, end - start});
      sizes.push_back(end - start);
      start = end;
    }
    bytes += files[i].size();
  }
  if (chunks.empty()) return {};

  // Sorting takes half the memory of a hash table, and is faster for millions of chunks.
  std::sort(chunks.begin(), chunks.end());
  std::uint64_t unique_bytes = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (i == 0 || chunks[i] != chunks[i - 1]) unique_bytes += chunks[i].bytes;

  std::sort(sizes.begin(), sizes.end());
  ChunkStatistics statistics{.chunks = sizes.size(),
                             .mean_bytes = static_cast<double>(bytes) / static_cast<double>(sizes.size()),
                             .cdf = {},
                             .savings_percent = savings_percent(bytes, unique_bytes)};
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) statistics.percentiles[i] = percentile(sizes, kPercentiles[i]);
  for (std::size_t i = 0; i <= kCdfSteps; ++i)
    statistics.cdf.push_back(percentile(sizes, 100.0 * static_cast<double>(i) / kCdfSteps));
  return statistics;
}

std::uint64_t percentile(std::span<const std::uint64_t> sorted, double percent) {
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

double savings_percent(std::uint64_t bytes, std::uint64_t unique_bytes) {
  return bytes == 0 ? 0 : 100 * static_cast<double>(bytes - unique_bytes) / static_cast<double>(bytes);
}

}  // namespace dedupfs::bench
