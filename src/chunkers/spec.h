// The common part of chunker specs, for the registry and the algorithms.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/spec.h"
#include "chunkers/chunker.h"

namespace dedupfs {

// Below this, metadata outweighs the chunk; it also puts a full hash window of 64 bytes in front of every cut.
inline constexpr std::uint32_t kMinChunkBytesLimit = 64;

inline constexpr std::uint64_t kDefaultAvgBytes = 16 << 10;

// log2(avg); kInvalidArgument unless avg is a power of two up to 2^largest.
Result<int> log2_of_avg(const Spec& spec, const ChunkSizes& sizes, int largest);

// The keys min, avg and max, checked: kMinChunkBytesLimit <= min <= avg <= max <= kMaxChunkBytesLimit.
// Left out, avg is 16k, min is avg / 4 and max is 4 * avg, as far as the limits allow.
Result<ChunkSizes> sizes_from(const Spec& spec);

// "min=2k,avg=8k,max=32k", the part of a canonical spec that sizes_from() reads.
std::string format_sizes(const ChunkSizes& sizes);

}  // namespace dedupfs
