// Files whose chunks and recipes are put into the index by hand: statistics look at nothing else.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "fs/format/recipe_format.h"
#include "index/bulk_writer.h"
#include "index/database.h"
#include "store/chunks/chunk_index.h"

namespace dedupfs {

inline constexpr std::uint32_t kHandMadeChunkBytes = 4096;

inline ChunkExtent::Chunk raw_chunk() {
  return {.raw_length = kHandMadeChunkBytes, .delta_length = 0, .sources = {}};
}
inline ChunkExtent::Chunk delta_chunk(std::uint32_t length, const std::vector<std::uint64_t>& sources) {
  ChunkExtent::Chunk chunk{.raw_length = kHandMadeChunkBytes, .delta_length = length, .sources = {}};
  for (const std::uint64_t source : sources) chunk.sources.push_back(ChunkId{source});
  return chunk;
}

class HandMadeContent {
 public:
  explicit HandMadeContent(Database& database) : database_(database) {}

  // A region of its own, which takes half of the bytes of its payload on disk.
  void put_extent(std::uint64_t first, std::vector<ChunkExtent::Chunk> chunks, std::uint32_t container = 1,
                  std::uint32_t offset = 0) {
    ChunkExtent extent;
    extent.first = ChunkId{first};
    extent.place = {container, offset};
    extent.chunks = std::move(chunks);
    for (const ChunkExtent::Chunk& chunk : extent.chunks) extent.region_payload_bytes += chunk.payload_length();
    extent.region_disk_bytes = extent.region_payload_bytes / 2;
    put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
  }
  // The whole recipe of a file that was made, in a segment.
  void let_be(InodeNumber file, const std::vector<std::uint64_t>& chunks) {
    std::vector<RecipeEntry> entries;
    for (const std::uint64_t id : chunks)
      entries.push_back(
          {.kind = RecipeEntry::Kind::kChunk, .length = kHandMadeChunkBytes, .chunk = ChunkId{id}, .bytes = {}});
    put(Family::kRecipes, encode_recipe_key(file, 0), encode_segment(entries));
  }

  // A recipe of so many full segments that refer to one chunk.
  void let_be_long(InodeNumber file, std::uint64_t chunk, std::uint64_t segments) {
    const RecipeEntry entry{
        .kind = RecipeEntry::Kind::kChunk, .length = kHandMadeChunkBytes, .chunk = ChunkId{chunk}, .bytes = {}};
    const std::string segment = encode_segment(std::vector(kSegmentEntries, entry));
    BulkWriter writer(database_);
    for (std::uint64_t i = 0; i < segments; ++i)
      ASSERT_TRUE(
          writer.put(Family::kRecipes, encode_recipe_key(file, i * kSegmentEntries * kHandMadeChunkBytes), segment));
    ASSERT_TRUE(writer.flush());
  }

 private:
  void put(Family family, std::string_view key, std::string_view value) {
    Database::Batch batch(database_);
    batch.put(family, key, value);
    ASSERT_TRUE(database_.write(batch));
  }

  Database& database_;
};

}  // namespace dedupfs
