#include "store/containers/region_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

namespace dedupfs {
namespace {

constexpr std::size_t kPayloadBytes = 10'000;

std::shared_ptr<const Region> region_of(std::uint8_t content) {
  Region region;
  region.payload.assign(kPayloadBytes, content);
  return std::make_shared<const Region>(std::move(region));
}

RegionPlace place(std::uint32_t number) {
  return {.container = 1, .offset = number};
}

RegionRange range_of(std::uint32_t number) {
  return {place(number), 1000 + number};
}

// Counts what it loads; the content of a region is the offset of its place.
struct CountingLoader {
  std::shared_ptr<std::atomic<int>> loads = std::make_shared<std::atomic<int>>(0);

  Result<std::shared_ptr<const Region>> operator()(RegionRange range) const {
    ++*loads;
    return region_of(static_cast<std::uint8_t>(range.place.offset));
  }
};

TEST(RegionCache, LoadsARegionOnce) {
  CountingLoader loader;
  RegionCache cache(1 << 20, loader);

  const auto first = cache.get(range_of(7));
  const auto second = cache.get(range_of(7));

  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ((*first)->payload[0], 7);
  EXPECT_EQ(*loader.loads, 1);
  EXPECT_EQ(cache.meter_reading().misses, 1u);
  EXPECT_EQ(cache.meter_reading().hits, 1u);
}

TEST(RegionCache, TheLoaderIsToldTheLength) {
  RegionRange loaded;
  RegionCache cache(1 << 20, [&](RegionRange range) -> Result<std::shared_ptr<const Region>> {
    loaded = range;
    return region_of(1);
  });

  ASSERT_TRUE(cache.get(range_of(7)));

  EXPECT_EQ(loaded, range_of(7));
}

TEST(RegionCache, LeastRecentlyUsedGoesFirst) {
  CountingLoader loader;
  RegionCache cache(3 * kPayloadBytes + 2000, loader);
  for (const std::uint32_t number : {1u, 2u, 3u, 1u}) ASSERT_TRUE(cache.get(range_of(number)));

  ASSERT_TRUE(cache.get(range_of(4)));

  EXPECT_TRUE(cache.contains(place(1)));
  EXPECT_FALSE(cache.contains(place(2)));
  EXPECT_TRUE(cache.contains(place(3)));
  EXPECT_TRUE(cache.contains(place(4)));
}

TEST(RegionCache, NeverKeepsMoreThanItsCapacity) {
  CountingLoader loader;
  RegionCache cache(5 * kPayloadBytes, loader);
  for (std::uint32_t number = 0; number < 100; ++number) {
    ASSERT_TRUE(cache.get(range_of(number)));
    EXPECT_LE(cache.size_bytes(), 5 * kPayloadBytes);
  }
  EXPECT_GT(cache.size_bytes(), 3 * kPayloadBytes);
}

TEST(RegionCache, RegionLargerThanTheCacheIsGivenButNotKept) {
  CountingLoader loader;
  RegionCache cache(kPayloadBytes / 2, loader);

  EXPECT_TRUE(cache.get(range_of(1)));

  EXPECT_FALSE(cache.contains(place(1)));
  EXPECT_EQ(cache.size_bytes(), 0u);
}

TEST(RegionCache, InsertedRegionIsNotLoaded) {
  CountingLoader loader;
  RegionCache cache(1 << 20, loader);
  const auto region = region_of(1);

  cache.insert(place(1), region);
  cache.insert(place(1), region_of(2));

  EXPECT_EQ(*cache.get(range_of(1)), region);
  EXPECT_EQ(*loader.loads, 0);
}

TEST(RegionCache, FailedLoadIsTriedAgain) {
  bool failing = true;
  RegionCache cache(1 << 20, [&](RegionRange) -> Result<std::shared_ptr<const Region>> {
    if (failing) return Error{ErrorCode::kIo, "not now"};
    return region_of(1);
  });

  EXPECT_FALSE(cache.get(range_of(1)));
  EXPECT_FALSE(cache.contains(place(1)));
  failing = false;
  EXPECT_TRUE(cache.get(range_of(1)));
}

TEST(RegionCache, ClearForgetsWhatReadersMayStillHold) {
  CountingLoader loader;
  RegionCache cache(1 << 20, loader);
  const auto held = cache.get(range_of(9));

  cache.clear();

  EXPECT_EQ(cache.size_bytes(), 0u);
  EXPECT_FALSE(cache.contains(place(9)));
  EXPECT_EQ((*held)->payload[0], 9);
  EXPECT_TRUE(cache.get(range_of(9)));
  EXPECT_EQ(*loader.loads, 2);
}

// Else everybody who reads it afterwards waits for the load that never ends.
TEST(RegionCache, ALoaderWithoutMemoryIsAnErrorAndTheNextReaderTriesAgain) {
  bool fails = true;
  RegionCache cache(1 << 20, [&fails](RegionRange range) -> Result<std::shared_ptr<const Region>> {
    if (fails) throw std::bad_alloc();
    return region_of(static_cast<std::uint8_t>(range.place.offset));
  });

  const auto failed = cache.get(range_of(7));
  fails = false;
  const bool is_being_loaded = cache.contains(place(7));

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kNoMemory);
  ASSERT_FALSE(is_being_loaded);
  EXPECT_TRUE(cache.get(range_of(7)));
}

TEST(RegionCache, ReadersThatMissTogetherLoadOnceAndGetTheSame) {
  for (const bool failing : {false, true}) {
    std::atomic<int> loads = 0;
    std::atomic<bool> may_end = false;
    RegionCache cache(1 << 20, [&](RegionRange) -> Result<std::shared_ptr<const Region>> {
      ++loads;
      while (!may_end) std::this_thread::yield();
      if (failing) return Error{ErrorCode::kIo, "broken"};
      return region_of(1);
    });
    std::atomic<int> good = 0;
    std::vector<std::thread> readers;

    readers.emplace_back([&] { good += cache.get(range_of(1)).has_value(); });
    while (loads == 0) std::this_thread::yield();
    EXPECT_TRUE(cache.contains(place(1))) << "a prefetch would be in vain";
    for (int i = 0; i < 4; ++i) readers.emplace_back([&] { good += cache.get(range_of(1)).has_value(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most of them are waiting by then
    may_end = true;
    for (std::thread& reader : readers) reader.join();

    EXPECT_EQ(good, failing ? 0 : 5);
    EXPECT_TRUE(failing || loads == 1) << loads;
  }
}

TEST(RegionCache, HoldsUnderManyThreads) {
  CountingLoader loader;
  RegionCache cache(8 * kPayloadBytes, loader);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint32_t i = 0; i < 2000; ++i) {
        const std::uint32_t number = (i * (thread + 3)) % 16;
        if (i % 97 == 0) cache.clear();
        if (i % 13 == 0) cache.insert(place(number), region_of(static_cast<std::uint8_t>(number)));
        const auto region = cache.get(range_of(number));
        if (!region || (*region)->payload[0] != number) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.size_bytes(), 8 * kPayloadBytes);
}

}  // namespace
}  // namespace dedupfs
