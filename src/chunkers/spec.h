// Chunker spec strings, "NAME:key=value,key=value", taken apart and checked, for the registry and the algorithms.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "chunkers/chunker.h"

namespace dedupfs {

// Below this, metadata outweighs the chunk; it also puts a full hash window of 64 bytes in front of every cut.
inline constexpr std::uint32_t kSmallestMinChunkBytes = 64;

inline constexpr std::uint64_t kDefaultAvgBytes = 16 << 10;

struct ChunkerSpec {
  std::string name;
  std::map<std::string, std::uint64_t, std::less<>> values;  // sizes and counts
  std::map<std::string, std::string, std::less<>> words;     // values that are words, like mode=dec

  std::optional<std::uint64_t> find(std::string_view key) const;
};

// Grammar only: which names and keys exist is for the registry and the algorithm to say.
Result<ChunkerSpec> parse_chunker_spec(std::string_view text);

// kInvalidArgument, listing what is allowed, if the spec has any other key, or a word where a number belongs.
Result<void> allow_only(const ChunkerSpec& spec, std::initializer_list<std::string_view> numbers,
                        std::initializer_list<std::string_view> words = {});

// The value of a key; kInvalidArgument unless it is in [smallest, largest].
Result<std::uint64_t> number_from(const ChunkerSpec& spec, std::string_view key, std::uint64_t if_absent,
                                  std::uint64_t smallest, std::uint64_t largest);

// log2(avg); kInvalidArgument unless avg is a power of two up to 2^largest.
Result<int> log2_of_avg(const ChunkerSpec& spec, const ChunkSizes& sizes, int largest);

// The keys min, avg and max, checked: kSmallestMinChunkBytes <= min <= avg <= max <= kLargestMaxChunkBytes.
// Left out, avg is 16k, min is avg / 4 and max is 4 * avg, as far as the limits allow.
Result<ChunkSizes> sizes_from(const ChunkerSpec& spec);

// "a, b, c", for messages that say what is allowed.
std::string comma_separated(std::span<const std::string_view> items);

// "min=2k,avg=8k,max=32k", the part of a canonical spec that sizes_from() reads.
std::string format_sizes(const ChunkSizes& sizes);

}  // namespace dedupfs
