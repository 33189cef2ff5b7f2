#include "bench/chunk_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace dedupfs::bench {
namespace {

TEST(ChunkStatistics, PercentilesAreByNearestRank) {
  std::vector<std::uint64_t> sizes(200);
  std::iota(sizes.begin(), sizes.end(), 1);  // 1 to 200

  EXPECT_EQ(percentile(sizes, 0), 1u);
  EXPECT_EQ(percentile(sizes, 1), 2u);
  EXPECT_EQ(percentile(sizes, 50), 100u);
  EXPECT_EQ(percentile(sizes, 50.1), 101u);
  EXPECT_EQ(percentile(sizes, 99), 198u);
  EXPECT_EQ(percentile(sizes, 100), 200u);
  EXPECT_EQ(percentile(std::vector<std::uint64_t>{7}, 1), 7u);
}

TEST(ChunkStatistics, SavingsAreWhatDeduplicationLeavesOut) {
  EXPECT_DOUBLE_EQ(savings_percent(1000, 1000), 0);
  EXPECT_DOUBLE_EQ(savings_percent(1000, 250), 75);
  EXPECT_DOUBLE_EQ(savings_percent(0, 0), 0);
}

TEST(ChunkStatistics, ChunksAreDeduplicatedWithinAndAcrossFiles) {
  const ByteSpan first = bytes_of("aaaabbbbaaaa");
  const ByteSpan second = bytes_of("bbbbcc");

  const ChunkStatistics statistics = statistics_of(std::vector{first, second}, {{4, 8, 12}, {4, 6}});

  EXPECT_EQ(statistics.chunks, 5u);
  EXPECT_DOUBLE_EQ(statistics.mean_bytes, 18.0 / 5);
  EXPECT_DOUBLE_EQ(statistics.savings_percent, 100.0 * 8 / 18);  // aaaa and bbbb once more
}

TEST(ChunkStatistics, ChunksOfOneContentAndDifferentLengthAreDifferent) {
  const ByteSpan zeros = bytes_of(std::string_view("\0\0\0\0\0\0\0", 7));

  EXPECT_DOUBLE_EQ(statistics_of(std::vector{zeros}, {{3, 7}}).savings_percent, 0);
}

TEST(ChunkStatistics, TheDistributionGoesFromTheShortestChunkToTheLongest) {
  const ByteBuffer data(100);

  const ChunkStatistics statistics = statistics_of(std::vector{ByteSpan(data)}, {{10, 30, 60, 100}});

  ASSERT_EQ(statistics.cdf.size(), kCdfSteps + 1);
  EXPECT_EQ(statistics.cdf.front(), 10u);
  EXPECT_EQ(statistics.cdf[kCdfSteps / 2], 20u);
  EXPECT_EQ(statistics.cdf.back(), 40u);
  EXPECT_TRUE(std::is_sorted(statistics.cdf.begin(), statistics.cdf.end()));
}

}  // namespace
}  // namespace dedupfs::bench
