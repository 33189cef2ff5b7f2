#include "store/seal/extent_map.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace dedupfs {
namespace {

SealedExtent extent(std::uint64_t begin, std::uint64_t length, std::uint32_t record) {
  return {.begin = begin,
          .end = begin + length,
          .record_begin = begin,
          .record_bytes = static_cast<std::uint32_t>(length),
          .segment = record};
}

TEST(ExtentMaps, TheLastExtentCounts) {
  ExtentMap map;
  map.put(extent(0, 100, 1));
  map.put(extent(40, 20, 2));
  const auto parts = map.within(30, 70);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].segment, 1u);
  EXPECT_EQ(parts[0].begin, 30u);
  EXPECT_EQ(parts[1].segment, 2u);
  EXPECT_EQ(parts[2].segment, 1u);
  EXPECT_EQ(parts[2].begin, 60u);
  EXPECT_EQ(parts[2].record_begin, 0u);
}

// Beside a list that says of each byte which record has it.
TEST(ExtentMaps, AreAsAListOfBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    ExtentMap map;
    std::vector<std::uint32_t> bytes(300);
    for (std::uint32_t record = 1; record < 60; ++record) {
      const std::uint64_t begin = random() % 250;
      const std::uint64_t length = 1 + random() % 50;
      if (random() % 10 == 0) {
        map.cut(begin);
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end(), 0);
        continue;
      }
      map.put(extent(begin, length, record));
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), length, record);
    }
    std::vector<std::uint32_t> found(bytes.size());
    for (const SealedExtent& part : map.within(0, bytes.size()))
      for (std::uint64_t at = part.begin; at < part.end; ++at) found[at] = part.segment;
    ASSERT_EQ(found, bytes);
    EXPECT_EQ(ExtentMap(map.all()).all(), map.all());
  }
}

}  // namespace
}  // namespace dedupfs
