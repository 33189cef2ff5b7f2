// The format of recipes: the entries, the key of a segment and its value. See docs/format.md, "Recipes".
//
// Failure: decoding trusts nothing: bytes that the encoder never writes are kCorruption.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fs/format/types.h"
#include "store/format/types.h"

namespace dedupfs {

inline constexpr std::size_t kSegmentEntries = 1024;
inline constexpr std::size_t kSegmentsOfAPage = 64;  // for walks over recipes
inline constexpr std::uint32_t kInlineBytes = 512;
inline constexpr std::uint8_t kSegmentVersion = 1;
// No chunk has this id. A reference to it means lost content.
inline constexpr ChunkId kLostChunk{0};

struct RecipeEntry {
  enum class Kind : std::uint8_t { kChunk, kHole, kInline };

  Kind kind = Kind::kHole;
  std::uint64_t length = 0;  // bytes of the file; of a chunk, always the whole chunk
  ChunkId chunk{};           // kChunk
  std::string bytes;         // kInline

  bool is_data() const { return kind != Kind::kHole; }
  bool operator==(const RecipeEntry&) const = default;
};

std::string encode_recipe_key(InodeNumber inode, std::uint64_t offset);
struct RecipeKey {
  InodeNumber inode = 0;
  std::uint64_t offset = 0;
};
Result<RecipeKey> decode_recipe_key(std::string_view key);

// 1 to kSegmentEntries entries, none of length 0, that end no later than kMaxFileBytes if they start at 0.
std::string encode_segment(const std::vector<RecipeEntry>& entries);
Result<std::vector<RecipeEntry>> decode_segment(std::string_view value);

}  // namespace dedupfs
