#include "store/relocation/defragmentation_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kRegion = 512 << 10;
constexpr std::uint32_t kBytesOfChunk = 32 << 10;  // a sixteenth of a region

class DefragmentationPlanTest : public testing::Test {
 protected:
  // A chunk of the stream; it is read at once, and so is what it is made from.
  std::uint32_t need(std::uint32_t container, std::uint32_t offset = 0) {
    const std::uint32_t at = add(container, offset, false);
    needed_.reads.push_back({at, at});
    return at;
  }
  std::uint32_t need_delta(std::uint32_t container, const std::vector<std::uint32_t>& containers_of_sources) {
    const std::uint32_t at = add(container, 0, true);
    needed_.reads.push_back({at, at});
    for (const std::uint32_t source : containers_of_sources) needed_.reads.push_back({add(source, 0, false), at});
    return at;
  }
  void need_again(std::uint32_t at) { needed_.reads.push_back({at, at}); }
  // So much of other regions that nothing else is in the cache any more.
  void fill_cache() {
    for (std::uint64_t bytes = 0; bytes < limits_.cache_bytes; bytes += kRegion)
      for (int i = 0; i < 16; ++i) need(1000, static_cast<std::uint32_t>(bytes));
  }

  std::vector<std::uint32_t> plan() { return plan_defragmentation(needed_, limits_); }

  NeededOrder needed_;
  DefragmentationLimits limits_{
      .moved_bytes = 1 << 30, .grown_bytes = 1 << 30, .cache_bytes = 8 * kRegion, .end_container = 100};

 private:
  std::uint32_t add(std::uint32_t container, std::uint32_t offset, bool is_delta) {
    const auto at = static_cast<std::uint32_t>(needed_.chunks.size());
    needed_.chunks.push_back({ChunkId{100 + at}, {container, offset}, kRegion, kBytesOfChunk, is_delta});
    return at;
  }
};

TEST_F(DefragmentationPlanTest, ChunksForWhichARegionIsReadAreWorthIt) {
  for (int i = 0; i < 16; ++i) need(1);
  const std::uint32_t alone = need(2);
  for (int i = 0; i < 16; ++i) need(3);

  EXPECT_THAT(plan(), ElementsAre(alone));
}

TEST_F(DefragmentationPlanTest, ARegionInTheCacheCostsNothing) {
  const std::uint32_t first = need(1);
  need(2);
  need_again(first);
  for (int i = 0; i < 15; ++i) need(2), need(1);

  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(DefragmentationPlanTest, ARegionThatTheCacheDropsIsReadAgainForFew) {
  for (int i = 0; i < 16; ++i) need(1);
  fill_cache();
  const std::uint32_t late = need(1);
  fill_cache();

  EXPECT_THAT(plan(), ElementsAre(late));
}

TEST_F(DefragmentationPlanTest, TheBudgetIsForThoseThatSaveMostReadsForTheirBytes) {
  const std::uint32_t first = need(1);
  const std::uint32_t small = need(2);
  needed_.chunks[small].raw_bytes /= 2;
  const std::uint32_t near = need_delta(3, {4});
  const std::uint32_t far = need_delta(5, {6, 7, 8});

  limits_.moved_bytes = limits_.grown_bytes = kBytesOfChunk;
  EXPECT_THAT(plan(), ElementsAre(small, far));
  limits_.moved_bytes = 2 * kBytesOfChunk;
  EXPECT_THAT(plan(), ElementsAre(first, small, far));
  limits_.grown_bytes = 2 * kBytesOfChunk;
  EXPECT_THAT(plan(), ElementsAre(first, small, near, far));
  limits_.moved_bytes = 0;
  EXPECT_THAT(plan(), ElementsAre(near, far));
  limits_.grown_bytes = 0;
  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(DefragmentationPlanTest, ChunksOfYoungContainersDoNotMove) {
  const std::uint32_t old = need(99);
  need(100);
  need(101);

  EXPECT_THAT(plan(), ElementsAre(old));
}

TEST_F(DefragmentationPlanTest, ADeltaIsStoredWithoutItsSourcesWhereTheseAreFarAndWide) {
  for (int i = 0; i < 16; ++i) need(1);
  const std::uint32_t scattered = need_delta(101, {2, 3, 4, 5, 6});
  for (int i = 0; i < 16; ++i) need(101);

  EXPECT_THAT(plan(), ElementsAre(scattered)) << "young or not: that it stays there is not what it costs";
}

TEST_F(DefragmentationPlanTest, ADeltaStaysWhereItsSourcesAreAtHand) {
  for (int i = 0; i < 16; ++i) need(1);
  need_delta(1, {1, 1, 1});
  for (int i = 0; i < 16; ++i) need_delta(2, {3, 3, 3});

  EXPECT_THAT(plan(), IsEmpty());
}

TEST_F(DefragmentationPlanTest, WhatDoesNotSaveARegionStays) {
  const std::uint32_t small = need(1);
  needed_.chunks[small].raw_bytes = 1;
  for (int i = 0; i < 8; ++i) need(1);
  const std::uint32_t base = need(2);
  needed_.chunks[base].raw_bytes = 1;
  limits_.grown_bytes = 0;
  const std::uint32_t delta = need_delta(3, {});
  needed_.reads.push_back({base, delta});
  for (int i = 0; i < 15; ++i) need_delta(3, {});

  EXPECT_THAT(plan(), IsEmpty()) << "the region is read for the rest of it; a delta is made from the other";
}

TEST_F(DefragmentationPlanTest, AChunkThatIsReferredToOftenIsStoredOnce) {
  const std::uint32_t often = need(1);
  for (int i = 0; i < 3; ++i) {
    fill_cache();
    need_again(often);
  }

  EXPECT_THAT(plan(), ElementsAre(often));
}

}  // namespace
}  // namespace dedupfs
