#include "store/chunks/chunk_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace dedupfs {
namespace {

ChunkCache::Chunk chunk_of(std::size_t bytes) {
  return std::make_shared<const RawBuffer>(bytes);
}

std::vector<std::uint64_t> kept(ChunkCache& cache, std::uint64_t ids) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t id = 0; id < ids; ++id)
    if (cache.find(ChunkId{id})) found.push_back(id);
  return found;
}

TEST(ChunkCache, GivesBackWhatWasPutIn) {
  ChunkCache cache(1 << 20);
  const auto chunk = chunk_of(1000);

  cache.insert(ChunkId{1}, chunk);

  EXPECT_EQ(cache.find(ChunkId{1}), chunk);
  EXPECT_EQ(cache.find(ChunkId{2}), nullptr);
}

TEST(ChunkCache, TheChunkThatIsThereStays) {
  ChunkCache cache(1 << 20);
  const auto first = chunk_of(1000);

  cache.insert(ChunkId{1}, first);
  cache.insert(ChunkId{1}, chunk_of(1000));

  EXPECT_EQ(cache.find(ChunkId{1}), first);
}

TEST(ChunkCache, LeastRecentlyUsedGoFirst) {
  ChunkCache cache(45'000);
  for (std::uint64_t id = 0; id < 4; ++id) cache.insert(ChunkId{id}, chunk_of(10'000));
  EXPECT_TRUE(cache.find(ChunkId{0}));

  cache.insert(ChunkId{4}, chunk_of(10'000));

  EXPECT_EQ(kept(cache, 5), (std::vector<std::uint64_t>{0, 2, 3, 4}));
}

TEST(ChunkCache, WhatIsDroppedStaysWithItsReaders) {
  ChunkCache cache(1000);
  cache.insert(ChunkId{0}, chunk_of(900));
  const auto held = cache.find(ChunkId{0});

  cache.insert(ChunkId{1}, chunk_of(900));

  EXPECT_EQ(kept(cache, 2), std::vector<std::uint64_t>{1});
  EXPECT_EQ(held->size(), 900u);
}

TEST(ChunkCache, SmallChunksAreNotFree) {
  ChunkCache cache(100'000);

  for (std::uint64_t id = 0; id < 10'000; ++id) cache.insert(ChunkId{id}, chunk_of(10));

  EXPECT_LT(kept(cache, 10'000).size(), 1000u);
}

TEST(ChunkCache, ServesManyThreads) {
  ChunkCache cache(20'000);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&cache, thread] {
      for (std::uint64_t i = 0; i < 5000; ++i) {
        const std::uint64_t size = 1 + (i * 7 + thread) % 97;
        cache.insert(ChunkId{size}, chunk_of(size));
        if (const auto found = cache.find(ChunkId{(size * 3) % 97})) {
          EXPECT_EQ(found->size(), (size * 3) % 97);
        }
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace dedupfs
