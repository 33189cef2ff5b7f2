#include "store/containers/container_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory_containers.h"
#include "sample_region.h"
#include "store/format/container_format.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Compression kStored = Compression::none();

// A container of four regions of one chunk each, made as a string.
class ContainerScanTest : public testing::Test {
 protected:
  ContainerScanTest() {
    for (std::uint64_t id = 1; id <= 4; ++id) add(one_chunk(id, 2000).encode(kStored));
  }

  void add(const std::string& region) {
    offsets_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    bytes_ += region;
  }
  void seal() { bytes_ += encode_container_trailer({1, offsets_.size(), bytes_.size() + kContainerTrailerBytes}); }
  void damage(std::uint64_t offset) { bytes_[offset] = static_cast<char>(bytes_[offset] ^ 1); }

  ContainerScan scan(const std::vector<std::uint32_t>& known_offsets = {}) {
    containers_.put(1, bytes_);
    visited_.clear();
    auto scan = scan_container(containers_, 1, known_offsets, [this](RegionPlace place, const RegionHeader&) {
      visited_.push_back(place.offset);
      return Result<void>();
    });
    EXPECT_TRUE(scan);
    return *scan;
  }

  std::string bytes_ = encode_container_header({1, {}});
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> visited_;
  MemoryContainers containers_;
};

TEST_F(ContainerScanTest, WholeContainerHasNoDamage) {
  seal();

  const ContainerScan found = scan();

  EXPECT_EQ(visited_, offsets_);
  EXPECT_THAT(found.damage, IsEmpty());
  EXPECT_TRUE(found.sealed);
  EXPECT_EQ(found.end_offset, bytes_.size());
}

TEST_F(ContainerScanTest, DamageBehindAHeaderHidesNothing) {
  seal();
  damage(offsets_[1] + kRegionHeaderBytes);
  damage(offsets_[2] + 1000);

  EXPECT_THAT(scan().damage, IsEmpty());
  EXPECT_EQ(visited_, offsets_);
}

TEST_F(ContainerScanTest, BehindADamagedHeaderTheNextRegionIsFound) {
  seal();
  damage(offsets_[1] + 20);

  const ContainerScan found = scan();

  EXPECT_THAT(visited_, ElementsAre(offsets_[0], offsets_[2], offsets_[3]));
  ASSERT_EQ(found.damage.size(), 1u);
  EXPECT_EQ(found.damage[0].offset, offsets_[1]);
  EXPECT_EQ(found.damage[0].length, offsets_[2] - offsets_[1]);
  EXPECT_TRUE(found.sealed);
}

TEST_F(ContainerScanTest, BehindTheDamagedHeaderOfTheLastRegionTheTrailerIsFound) {
  seal();
  damage(offsets_[3]);

  EXPECT_TRUE(scan().sealed);
  EXPECT_THAT(visited_, ElementsAre(offsets_[0], offsets_[1], offsets_[2]));
}

// A file that is a container itself, stored as it is, in a region whose header is damaged.
TEST_F(ContainerScanTest, RegionsInsideOfAPayloadAreNotTakenForOnesOfTheContainer) {
  SampleRegion stored_container;
  const std::string inner =
      one_chunk(77, 500).encode(kStored) + one_chunk(78, 500).encode(kStored) + encode_container_trailer({1, 2, 2000});
  stored_container.add(5, ByteBuffer(inner.begin(), inner.end()));
  const std::uint64_t outer = bytes_.size();
  add(stored_container.encode(kStored));
  add(one_chunk(6, 2000).encode(kStored));
  seal();
  damage(outer + 20);
  const auto expected = ElementsAre(offsets_[0], offsets_[1], offsets_[2], offsets_[3], offsets_[5]);

  scan();
  EXPECT_THAT(visited_, expected);
  scan(offsets_);
  EXPECT_THAT(visited_, expected);
}

TEST_F(ContainerScanTest, WhatLiesBetweenTwoDamagedHeadersIsFoundWhereItsPlaceIsKnown) {
  seal();
  damage(offsets_[0] + 20);
  damage(offsets_[2] + 20);

  scan();
  EXPECT_THAT(visited_, ElementsAre(offsets_[3]));
  scan(offsets_);
  EXPECT_THAT(visited_, ElementsAre(offsets_[1], offsets_[3]));
}

TEST_F(ContainerScanTest, TornTailEndsTheScan) {
  bytes_.resize(bytes_.size() - 100);

  const ContainerScan found = scan();

  EXPECT_THAT(visited_, ElementsAre(offsets_[0], offsets_[1], offsets_[2]));
  EXPECT_TRUE(found.has_torn_tail());
  EXPECT_EQ(found.end_offset, offsets_[3]);
}

TEST_F(ContainerScanTest, GapsAreSteppedOver) {
  const std::string gap = encode_gap_header(1000);
  bytes_ += gap + std::string(1000 - gap.size(), 'x');
  add(one_chunk(5, 2000).encode(kStored));

  EXPECT_THAT(scan().damage, IsEmpty());
  EXPECT_EQ(visited_, offsets_);
}

TEST_F(ContainerScanTest, FileThatEndsWithinItsHeaderIsAllDamage) {
  bytes_.resize(30);

  EXPECT_EQ(scan().damage.size(), 1u);
  EXPECT_THAT(visited_, IsEmpty());
}

}  // namespace
}  // namespace dedupfs
