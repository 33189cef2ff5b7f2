#include "store/chunks/chunk_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "support/units.h"

namespace dedupfs {
namespace {

std::vector<std::uint64_t> numbers_in(const ChunkSet& set) {
  std::vector<std::uint64_t> numbers;
  EXPECT_TRUE(set.for_each([&](ChunkId id) -> Result<void> {
    numbers.push_back(number_of(id));
    return {};
  }));
  return numbers;
}

TEST(ChunkSet, HoldsWhatWasInserted) {
  ChunkSet set(kMiB);
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.contains(ChunkId{0}));

  EXPECT_TRUE(set.insert(ChunkId{70}));
  EXPECT_FALSE(set.insert(ChunkId{70}));

  EXPECT_TRUE(set.contains(ChunkId{70}));
  EXPECT_FALSE(set.contains(ChunkId{69}));
  EXPECT_FALSE(set.contains(ChunkId{70 + 64}));
  EXPECT_FALSE(set.contains(ChunkId{70 + (std::uint64_t{1} << 40)}));
  EXPECT_FALSE(set.empty());
  EXPECT_TRUE(set.is_complete());
}

TEST(ChunkSet, AgreesWithASetOfNumbersAtEachScale) {
  std::mt19937_64 random(20261);
  for (unsigned bits = 1; bits <= 64; ++bits) {
    ChunkSet set(64 * kMiB);
    std::set<std::uint64_t> model;
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t number = random() >> (64 - bits);
      EXPECT_EQ(set.contains(ChunkId{number}), model.contains(number)) << bits;
      EXPECT_EQ(set.insert(ChunkId{number}), model.insert(number).second) << bits;
    }
    EXPECT_EQ(numbers_in(set), std::vector(model.begin(), model.end())) << bits;
  }
}

TEST(ChunkSet, VisitsInOrderUntilAnError) {
  ChunkSet set(kMiB);
  for (const std::uint64_t number : {UINT64_MAX, std::uint64_t{5}, std::uint64_t{1} << 50}) set.insert(ChunkId{number});
  std::vector<std::uint64_t> seen;

  const auto stopped = set.for_each([&](ChunkId id) -> Result<void> {
    seen.push_back(number_of(id));
    return seen.size() == 2 ? Result<void>(Error{ErrorCode::kInterrupted, "enough"}) : Result<void>();
  });

  EXPECT_FALSE(stopped);
  EXPECT_THAT(seen, testing::ElementsAre(5, std::uint64_t{1} << 50));
}

TEST(ChunkSet, TakesMemoryForWhatIsInItAndNotForTheGreatestId) {
  ChunkSet set(64 * kMiB);

  for (std::uint64_t number = 0; number < 100'000; ++number) set.insert(ChunkId{number});
  for (std::uint64_t number = 0; number < 1'000; ++number) set.insert(ChunkId{16'000'000'000 + number});

  EXPECT_LT(set.memory_bytes(), 64u << 10);
}

TEST(ChunkSet, DenseIdsTakeLittleMoreThanABit) {
  constexpr std::uint64_t kChunks = 10'000'000;
  ChunkSet set(64 * kMiB);

  for (std::uint64_t number = 0; number < kChunks; ++number) set.insert(ChunkId{number});

  EXPECT_LT(static_cast<double>(set.memory_bytes()), 1.3 * kChunks / 8 + (1 << 19));
}

TEST(ChunkSet, RefusesWhatWouldTakeMoreThanItMayAndSaysSo) {
  ChunkSet set(kMiB);
  std::mt19937_64 random(20262);

  std::uint64_t inserted = 0;
  for (int i = 0; i < 100'000; ++i) inserted += set.insert(ChunkId{random() >> 24}) ? 1u : 0u;

  EXPECT_GT(inserted, 200u);
  EXPECT_EQ(numbers_in(set).size(), inserted);
  EXPECT_LE(set.memory_bytes(), kMiB);
  EXPECT_FALSE(set.is_complete());
  EXPECT_EQ(set.require_complete().error().code(), ErrorCode::kNoMemory);
}

TEST(ChunkSet, IsEmptyAfterClear) {
  ChunkSet set(kMiB);
  for (std::uint64_t number = 0; number < 100'000; ++number) set.insert(ChunkId{number});

  set.clear();

  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.memory_bytes(), 0u);
  EXPECT_FALSE(set.contains(ChunkId{5}));
  EXPECT_TRUE(set.insert(ChunkId{5}));
}

TEST(ChunkSet, OfSeveralThreadsThatInsertTheSameOneIsFirst) {
  constexpr std::uint64_t kEnd = 300'000;
  ChunkSet set(kMiB, kEnd);
  std::atomic<std::uint64_t> first = 0;

  std::vector<std::jthread> threads;
  for (std::uint64_t i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t number = 0; number < kEnd; number += 3)
        if (set.insert_beside_others(ChunkId{number})) ++first;
    });
  threads.clear();

  EXPECT_EQ(first, kEnd / 3);
  EXPECT_EQ(numbers_in(set).size(), kEnd / 3);
}

}  // namespace
}  // namespace dedupfs
