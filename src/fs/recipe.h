// The recipe of a file: which chunks, in which order, make its content. Kept in the metadata as segments of up to 1024
// entries, keyed by inode and the file offset at which the segment starts. See docs/format.md, "Recipes".
//
// Entries cover [0, end()) without gaps; what lies between end() and the size of the file is hole. A file of up to
// kInlineBytes may be one inline entry: its bytes stand in the recipe itself.
//
// Threads:   one Recipe object has one user at a time (its FileContent's lock); different files are independent.
// Ownership: refers to the volume's Metadata; keeps the segments used last decoded.
// Failure:   a segment that does not parse, or does not fit its neighbours, is kCorruption and names inode and offset.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fs/types.h"
#include "store/metadata.h"
#include "store/types.h"

namespace dedupfs {

inline constexpr std::size_t kSegmentEntries = 1024;
inline constexpr std::uint32_t kInlineBytes = 512;

struct RecipeEntry {
  enum class Kind : std::uint8_t { kChunk, kHole, kInline };

  Kind kind = Kind::kHole;
  std::uint64_t length = 0;  // bytes of the file; of a chunk, always the whole chunk
  ChunkId chunk{};           // kChunk
  std::string bytes;         // kInline

  bool is_data() const { return kind != Kind::kHole; }
  bool operator==(const RecipeEntry&) const = default;
};

struct PlacedEntry {
  std::uint64_t offset = 0;  // in the file
  RecipeEntry entry;

  std::uint64_t end() const { return offset + entry.length; }
};

// One stored segment. Sums of lengths are checked against overflow of 2^63-1.
std::string encode_recipe_key(InodeNumber inode, std::uint64_t offset);
struct RecipeKey {
  InodeNumber inode = 0;
  std::uint64_t offset = 0;
};
Result<RecipeKey> decode_recipe_key(std::string_view key);
std::string encode_segment(const std::vector<RecipeEntry>& entries);
Result<std::vector<RecipeEntry>> decode_segment(std::string_view value);

class Recipe {
 public:
  Recipe(Metadata& metadata, InodeNumber inode);

  // The end of the last entry; 0 for an empty recipe.
  Result<std::uint64_t> end();
  // The entry that covers `offset`, if offset < end().
  Result<std::optional<PlacedEntry>> find(std::uint64_t offset);
  // Entries that overlap [from, to), at most `limit`, in order.
  Result<std::vector<PlacedEntry>> list(std::uint64_t from, std::uint64_t to, std::size_t limit = SIZE_MAX);

  // Replaces the entries in [from, to) by `entries`, whose lengths sum up to to - from; both must be boundaries. With
  // to >= end() everything from `from` on is replaced and the lengths may sum up to anything (append: from == to == end()).
  // from > end() fills the gap with a hole. Adjacent holes are merged. Returns the change in data bytes.
  Result<std::int64_t> replace(std::uint64_t from, std::uint64_t to, std::vector<RecipeEntry> entries);

  // Drops up to `segments` segments from the end of the recipe, for deletion in steps; true when none is left.
  static Result<bool> erase_some(Metadata& metadata, InodeNumber inode, std::size_t segments);

 private:
  struct Segment {
    std::uint64_t offset = 0;
    std::vector<RecipeEntry> entries;
    std::uint64_t end = 0;
  };

  Metadata& metadata_;
  InodeNumber inode_;
};

}  // namespace dedupfs
