#include "chunkers/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/size.h"

namespace dedupfs {
Result<int> log2_of_avg(const Spec& spec, const ChunkSizes& sizes, int largest) {
  const int log2 = std::countr_zero(sizes.avg_bytes);
  if (!std::has_single_bit(sizes.avg_bytes) || log2 > largest)
    return invalid_argument(fmt::format("chunker {}: avg={} is not allowed (powers of two from {} to {})", spec.name,
                                        format_size(sizes.avg_bytes), kMinChunkBytesLimit,
                                        format_size(std::uint64_t{1} << largest)));
  return log2;
}

Result<ChunkSizes> sizes_from(const Spec& spec) {
  constexpr std::uint64_t kMin = kMinChunkBytesLimit;
  constexpr std::uint64_t kMax = kMaxChunkBytesLimit;
  // avg first: it may be what an algorithm made a wrong min or max of.
  DEDUPFS_ASSIGN(const std::uint64_t avg, number_from(spec, "avg", kDefaultAvgBytes, kMin, kMax));
  DEDUPFS_ASSIGN(const std::uint64_t min, number_from(spec, "min", std::max(avg / 4, kMin), kMin, kMax));
  DEDUPFS_ASSIGN(const std::uint64_t max, number_from(spec, "max", std::min(avg * 4, kMax), kMin, kMax));
  if (min > avg || avg > max)
    return invalid_argument(fmt::format("chunker {}: min={}, avg={}, max={} break min <= avg <= max", spec.name,
                                        format_size(min), format_size(avg), format_size(max)));
  return ChunkSizes{static_cast<std::uint32_t>(min), static_cast<std::uint32_t>(avg), static_cast<std::uint32_t>(max)};
}

std::string format_sizes(const ChunkSizes& sizes) {
  return fmt::format("min={},avg={},max={}", format_size(sizes.min_bytes), format_size(sizes.avg_bytes),
                     format_size(sizes.max_bytes));
}

}  // namespace dedupfs
