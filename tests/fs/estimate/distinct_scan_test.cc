#include "fs/estimate/distinct_scan.h"

#include <gtest/gtest.h>

#include <random>

namespace dedupfs {
namespace {

TEST(DistinctScan, CountsAChunkOnceInAColumnAndKnowsItInTheNext) {
  DistinctScan scan(100, 0);
  scan.begin_column();
  scan.add(1, 10);
  scan.add(1, 10);
  scan.add(2, 20);
  scan.begin_column();
  scan.add(2, 20);
  scan.add(3, 30);

  ASSERT_EQ(scan.columns().size(), 2u);
  EXPECT_EQ(scan.columns()[0].bytes, 40);
  EXPECT_EQ(scan.columns()[0].alone, 30);
  EXPECT_EQ(scan.columns()[0].saved, 0);
  EXPECT_EQ(scan.columns()[1].alone, 50);
  EXPECT_EQ(scan.columns()[1].saved, 20);
}

TEST(DistinctScan, SharesAChunkOutAmongTheColumnsThatHaveIt) {
  DistinctScan scan(100, 2);
  scan.begin_column();
  scan.add(1, 10);
  scan.begin_column();
  for (int column = 0; column < 4; ++column) {
    scan.begin_column();
    scan.add(1, 10);
  }

  EXPECT_EQ(scan.shares(), (std::vector<double>{0.2, 1}));
}

// Of chunks of many lengths, each in two columns.
TEST(DistinctScan, StaysUnbiasedWhenItLooksAtAShareOnly) {
  DistinctScan scan(1000, 0);
  std::mt19937_64 random(1);
  double distinct = 0;
  for (int column = 0; column < 100; ++column) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> chunks;
    for (int i = 0; i < 300; ++i) chunks.emplace_back(random(), 1000 + random() % 1000);
    for (int twice = 0; twice < 2; ++twice) {
      scan.begin_column();
      for (const auto& [fingerprint, length] : chunks) scan.add(fingerprint, length);
    }
    for (const auto& [fingerprint, length] : chunks) distinct += length;
  }

  double found = 0;
  for (const ColumnCost& column : scan.columns()) found += column.alone - column.saved;
  EXPECT_NEAR(found, distinct, 0.1 * distinct);
}

}  // namespace
}  // namespace dedupfs
