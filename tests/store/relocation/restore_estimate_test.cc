#include "store/relocation/restore_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dedupfs {
namespace {

constexpr std::uint32_t kPayload = 1 << 20;
constexpr std::uint32_t kOnDisk = 1 << 19;

// A region with two chunks; the region is twice as large as what it takes on disk.
ChunkExtent extent_at(std::uint32_t container, std::uint32_t offset, std::uint64_t first) {
  ChunkExtent extent;
  extent.first = ChunkId{first};
  extent.place = {container, offset};
  extent.region_payload_bytes = kPayload;
  extent.region_disk_bytes = kOnDisk;
  extent.chunks.assign(2, {.raw_length = kPayload / 2, .delta_length = 0, .sources = {}});
  return extent;
}

TEST(RestoreEstimate, NeighboursAreReadWithoutAJump) {
  RestoreEstimate estimate;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const ChunkExtent extent = extent_at(7, 64 + i * kOnDisk, 100 + 2 * i);
    EXPECT_FALSE(estimate.read(extent, extent.id_of(0)));
    EXPECT_FALSE(estimate.read(extent, extent.id_of(1)));
  }

  EXPECT_EQ(estimate.regions_read(), 10u);
  EXPECT_EQ(estimate.jumps(), 1u) << "to the first";
  EXPECT_EQ(estimate.read_bytes(), 10u * kOnDisk);
}

TEST(RestoreEstimate, ARegionBeforeTheLastOneOrElsewhereIsAJump) {
  RestoreEstimate estimate;
  estimate.read(extent_at(7, 64 + 5 * kOnDisk, 100), ChunkId{100});
  estimate.read(extent_at(7, 64 + 4 * kOnDisk, 200), ChunkId{200});
  estimate.read(extent_at(8, 64 + 5 * kOnDisk, 300), ChunkId{300});

  EXPECT_EQ(estimate.jumps(), 3u);
  EXPECT_EQ(estimate.read_bytes(), 3u * kOnDisk);
}

TEST(RestoreEstimate, AShortGapIsReadOverAndALongOneJumped) {
  RestoreEstimate estimate;
  const std::uint32_t gap = RestoreEstimate::kShortGapBytes;
  estimate.read(extent_at(7, 0, 100), ChunkId{100});
  estimate.read(extent_at(7, kOnDisk + gap, 200), ChunkId{200});
  EXPECT_EQ(estimate.jumps(), 1u);
  EXPECT_EQ(estimate.read_bytes(), 2 * kOnDisk + gap);

  estimate.read(extent_at(7, 2 * kOnDisk + 2 * gap + 1, 300), ChunkId{300});
  EXPECT_EQ(estimate.jumps(), 2u);
  EXPECT_EQ(estimate.read_bytes(), 3 * kOnDisk + gap);
}

TEST(RestoreEstimate, ARegionIsReadAgainOnlyWhenTheCacheHasDroppedIt) {
  RestoreEstimate estimate;
  const std::uint32_t that_fit = RestoreEstimate::kCacheBytes / kPayload;
  const auto read_all = [&](std::uint32_t regions) {
    for (std::uint32_t i = 0; i < regions; ++i) estimate.read(extent_at(1, i * kOnDisk, 2 * i), ChunkId{2 * i});
  };
  read_all(that_fit);
  read_all(that_fit);
  EXPECT_EQ(estimate.regions_read(), that_fit);

  read_all(that_fit + 1);
  read_all(1);
  EXPECT_EQ(estimate.regions_read(), that_fit + 2);
}

TEST(RestoreEstimate, SourcesOfADeltaAreReadUnlessItIsDecodedStill) {
  RestoreEstimate estimate;
  ChunkExtent extent = extent_at(1, 0, 100);
  extent.chunks[1] = {.raw_length = 5000, .delta_length = 100, .sources = {ChunkId{50}}};

  EXPECT_FALSE(estimate.read(extent, ChunkId{100}));
  EXPECT_TRUE(estimate.read(extent, ChunkId{101}));
  EXPECT_FALSE(estimate.read(extent, ChunkId{101}));
  EXPECT_EQ(estimate.regions_read(), 1u);
}

TEST(RestoreEstimate, TimeIsThatOfTheDiskOrOfDecodingWhicheverIsLonger) {
  RestoreEstimate estimate;
  for (std::uint32_t i = 1; i <= 100; ++i) estimate.read(extent_at(i, 0, 2 * i), ChunkId{2 * i});

  EXPECT_NEAR(estimate.seconds({.seek_seconds = 0.01, .bytes_per_second = 1e9}), 100 * (0.01 + kOnDisk / 1e9), 1e-9);
  EXPECT_NEAR(estimate.seconds({.seek_seconds = 0, .bytes_per_second = 1e12}),
              100 * kPayload / RestoreEstimate::kDecodedBytesPerSecond, 1e-9);
}

}  // namespace
}  // namespace dedupfs
