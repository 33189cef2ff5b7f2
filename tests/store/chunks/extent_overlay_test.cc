#include "store/chunks/extent_overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Chunks say in their length which extent they came with.
ChunkExtent extent_of(std::uint64_t first, std::size_t count, std::uint32_t container) {
  ChunkExtent extent{.first = ChunkId{first},
                     .place = {container, 64},
                     .region_disk_bytes = 1000,
                     .region_payload_bytes = 2000,
                     .chunks = {}};
  for (std::size_t i = 0; i < count; ++i) extent.chunks.push_back({.raw_length = container * 1000 + std::uint32_t(i)});
  return extent;
}

TEST(Carve, LeavesWhatLiesBeforeAndBehind) {
  const ChunkExtent extent = extent_of(10, 10, 1);

  const auto left = carve(extent, ChunkId{13}, 4);

  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].first, ChunkId{10});
  EXPECT_EQ(left[0].chunks.size(), 3u);
  EXPECT_EQ(left[1].first, ChunkId{17});
  EXPECT_EQ(left[1].chunks, std::vector(extent.chunks.begin() + 7, extent.chunks.end()));
  EXPECT_EQ(left[1].place, extent.place);
}

TEST(Carve, LeavesAllOfARunBesideAndNothingOfOneInside) {
  const ChunkExtent extent = extent_of(10, 10, 1);

  EXPECT_THAT(carve(extent, ChunkId{20}, 5), ElementsAre(extent));
  EXPECT_THAT(carve(extent, ChunkId{5}, 5), ElementsAre(extent));
  EXPECT_THAT(carve(extent, ChunkId{10}, 10), IsEmpty());
  EXPECT_THAT(carve(extent, ChunkId{1}, 100), IsEmpty());
}

class ExtentOverlayTest : public testing::Test {
 protected:
  ExtentOverlayTest() {
    EXPECT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    database_ = std::move(*Database::open(folder_at(directory_.path() / "index"), {.memory_bytes = 8 << 20}));
  }

  void write(ExtentOverlay& overlay) {
    Database::Batch batch(*database_);
    overlay.append_to(batch);
    ASSERT_TRUE(database_->write(batch));
  }
  // Chunk by chunk, as its length tells where it is; fails if runs overlap.
  std::map<std::uint64_t, std::uint32_t> chunks() {
    std::map<std::uint64_t, std::uint32_t> chunks;
    std::uint64_t end = 0;
    const auto stored = database_->list(Family::kChunks, {}, {}, 100'000).value();
    for (const auto& [key, value] : stored) {
      const ChunkExtent extent = decode_extent(key, value).value();
      EXPECT_GE(number_of(extent.first), end) << "runs overlap";
      for (std::size_t i = 0; i < extent.chunks.size(); ++i)
        chunks[number_of(extent.id_of(i))] = extent.place.container * 1'000'000 + extent.chunks[i].raw_length;
      end = number_of(extent.first) + extent.chunks.size();
    }
    return chunks;
  }

  TempDir directory_;
  std::unique_ptr<Database> database_;
};

// Compared with a map that holds each chunk by itself, over many writes.
TEST_F(ExtentOverlayTest, OfAChunkThatOccursAgainTheLaterPlaceCountsUntilItIsRemoved) {
  std::mt19937_64 random(7);
  std::map<std::uint64_t, std::uint32_t> expected;
  ExtentOverlay overlay(*database_);
  for (std::uint32_t container = 1; container <= 600; ++container) {
    const ChunkExtent extent = extent_of(1 + random() % 2000, 1 + random() % 64, container);
    for (std::size_t i = 0; i < extent.chunks.size(); ++i)
      expected[number_of(extent.id_of(i))] = container * 1'000'000 + extent.chunks[i].raw_length;
    ASSERT_TRUE(overlay.lay(extent));
    const std::uint64_t first = 1 + random() % 2000;
    const std::uint64_t count = random() % 40;
    expected.erase(expected.lower_bound(first), expected.lower_bound(first + count));
    ASSERT_TRUE(overlay.remove(ChunkId{first}, count));
    if (random() % 20 == 0) write(overlay);
  }
  write(overlay);

  EXPECT_EQ(chunks(), expected);
}

TEST_F(ExtentOverlayTest, RunsBesideThoseThatAreLaidStayAsTheyAre) {
  ExtentOverlay overlay(*database_);
  for (const ChunkExtent& extent : {extent_of(10, 3, 1), extent_of(16, 3, 1)}) ASSERT_TRUE(overlay.lay(extent));
  write(overlay);
  ASSERT_TRUE(overlay.lay(extent_of(13, 3, 2)));

  Database::Batch batch(*database_);
  overlay.append_to(batch);
  Database::Batch only_the_new_one(*database_);
  only_the_new_one.put(Family::kChunks, encode_extent_key(ChunkId{13}), encode_extent(extent_of(13, 3, 2)));
  EXPECT_EQ(batch.size_bytes(), only_the_new_one.size_bytes());
}

TEST_F(ExtentOverlayTest, WhatIsRemovedFromTheMiddleLeavesBothEnds) {
  ExtentOverlay overlay(*database_);
  ASSERT_TRUE(overlay.lay(extent_of(10, 10, 1)));
  write(overlay);

  ASSERT_TRUE(overlay.remove(ChunkId{13}, 4));
  write(overlay);

  const auto stored = database_->list(Family::kChunks, {}, {}, 10).value();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(decode_extent(stored[0].first, stored[0].second).value(), extent_of(10, 10, 1).part(0, 3));
  EXPECT_EQ(decode_extent(stored[1].first, stored[1].second).value(), extent_of(10, 10, 1).part(7, 10));
}

TEST_F(ExtentOverlayTest, WhereNothingIsNothingIsRemoved) {
  ExtentOverlay overlay(*database_);
  ASSERT_TRUE(overlay.lay(extent_of(10, 3, 1)));
  write(overlay);

  ASSERT_TRUE(overlay.remove(ChunkId{13}, 5));
  ASSERT_TRUE(overlay.remove(ChunkId{5}, 5));

  Database::Batch batch(*database_);
  overlay.append_to(batch);
  EXPECT_TRUE(batch.empty());
}

}  // namespace
}  // namespace dedupfs
