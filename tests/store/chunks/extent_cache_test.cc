#include "store/chunks/extent_cache.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

ChunkExtent plain_extent(std::uint64_t first, std::size_t count, RegionPlace place) {
  ChunkExtent extent;
  extent.first = ChunkId{first};
  extent.place = place;
  extent.chunks.assign(count, {.raw_length = 100});
  return extent;
}

TEST(ExtentCache, FindsTheChunksOfWhatWasInserted) {
  ExtentCache cache;
  cache.insert(plain_extent(10, 5, {3, 64}), cache.generation());

  EXPECT_FALSE(cache.find(ChunkId{9}));
  ASSERT_TRUE(cache.find(ChunkId{10}));
  ASSERT_TRUE(cache.find(ChunkId{14}));
  EXPECT_EQ(cache.find(ChunkId{14})->region.place, (RegionPlace{3, 64}));
  EXPECT_FALSE(cache.find(ChunkId{14})->has_deltas);
  EXPECT_FALSE(cache.find(ChunkId{15}));
}

TEST(ExtentCache, WhatIsForgottenIsNotFound) {
  ExtentCache cache;
  cache.insert(plain_extent(10, 5, {3, 64}), cache.generation());
  cache.insert(plain_extent(20, 5, {3, 640}), cache.generation());

  cache.forget(ChunkId{12});

  EXPECT_FALSE(cache.find(ChunkId{10}));
  EXPECT_TRUE(cache.find(ChunkId{20}));
  cache.clear();
  EXPECT_FALSE(cache.find(ChunkId{20}));
}

// Its chunks may have been erased in between.
TEST(ExtentCache, WhatWasLookedUpBeforeItWasClearedIsNotKept) {
  ExtentCache cache;
  const auto generation = cache.generation();
  cache.clear();

  cache.insert(plain_extent(10, 5, {3, 64}), generation);
  EXPECT_FALSE(cache.find(ChunkId{10}));

  cache.insert(plain_extent(10, 5, {3, 64}), cache.generation());
  EXPECT_TRUE(cache.find(ChunkId{10}));
}

}  // namespace
}  // namespace dedupfs
