#include "store/ingest/region_packer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_region.h"
#include "store/chunks/fingerprint.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint32_t kRegionBytes = 16 << 10;

class RegionPackerTest : public testing::Test {
 protected:
  using Packed = RegionPacker::Packed;

  static Fingerprint fingerprint(std::uint64_t seed) {
    Fingerprint fingerprint;
    for (int i = 0; i < 8; ++i)
      fingerprint.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(seed >> 8 * i);
    return fingerprint;
  }
  Packed add(std::uint64_t seed, std::size_t bytes = 1000) {
    return packer_.add(fingerprint(seed), random_bytes(bytes, seed));
  }
  std::vector<std::uint64_t> add_many(std::uint64_t from, std::uint64_t to, std::size_t bytes) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t seed = from; seed < to; ++seed) ids.push_back(number_of(add(seed, bytes).id));
    return ids;
  }
  std::string read(ChunkId id) const {
    const auto location = pending_.locate(id);
    return location && location->region ? std::string(text_of(location->region->payload_of(location->entry))) : "";
  }
  const std::vector<RegionEntry>& entries_of(std::size_t region) const { return closed_.at(region)->region->entries; }

  PendingChunks pending_;
  ChunkIdAllocator ids_{100};
  std::vector<std::shared_ptr<PendingRegion>> closed_;
  RegionPacker packer_{pending_, ids_, kRegionBytes, [this](auto region) { closed_.push_back(std::move(region)); }};
};

// ---------------------------------------------------------------- ids

TEST_F(RegionPackerTest, IdsAreConsecutiveInBlocks) {
  EXPECT_EQ(ids_.next(), 100u) << "none is taken before it is needed";
  const auto first = add_many(0, 64, 10);
  EXPECT_EQ(first.front(), 100u);
  EXPECT_EQ(first.back(), 163u);
  EXPECT_EQ(ids_.next(), 164u);

  ids_.take_block();  // by another stream

  EXPECT_THAT(add_many(64, 66, 10), ElementsAre(228, 229));
}

TEST_F(RegionPackerTest, StreamsTakeTheirIdsFromBlocksOfTheirOwn) {
  RegionPacker other(pending_, ids_, kRegionBytes, [](auto) {});

  EXPECT_EQ(add(1).id, ChunkId{100});
  EXPECT_EQ(other.add(fingerprint(2), random_bytes(10, 2)).id, ChunkId{164});
  EXPECT_EQ(add(3).id, ChunkId{101});
}

TEST_F(RegionPackerTest, AnExtentIsAsLongAsIdsAreConsecutive) {
  add_many(0, 60, 10);
  ids_.take_block();
  add_many(60, 70, 10);
  packer_.close();

  ASSERT_THAT(closed_, SizeIs(1));
  const auto& extents = closed_[0]->extents;
  ASSERT_THAT(extents, SizeIs(2));
  EXPECT_EQ(extents[0].first, ChunkId{100});
  EXPECT_THAT(extents[0].chunks, SizeIs(64));
  EXPECT_EQ(extents[1].first, ChunkId{228});
  EXPECT_THAT(extents[1].chunks, SizeIs(6));
}

// ---------------------------------------------------------------- duplicates

TEST_F(RegionPackerTest, AChunkThatIsInTheRegionAlreadyIsNotPackedAgain) {
  const Packed first = add(1);
  const Packed again = add(1);
  const Packed next = add(2);
  packer_.close();

  EXPECT_TRUE(first.is_new);
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(number_of(next.id), number_of(first.id) + 1) << "no id is lost";
  ASSERT_THAT(closed_, SizeIs(1));
  EXPECT_THAT(entries_of(0), SizeIs(2));
  EXPECT_EQ(closed_[0]->used_bytes, 2000u);
  ASSERT_THAT(closed_[0]->extents, SizeIs(1));
  EXPECT_THAT(closed_[0]->extents.at(0).chunks, SizeIs(2));
  EXPECT_EQ(read(next.id), text_of(random_bytes(1000, 2)));
}

TEST_F(RegionPackerTest, WhoWasFasterGivesItsId) {
  RegionPacker other(pending_, ids_, kRegionBytes, [](auto) {});
  const ChunkId id = other.add(fingerprint(1), random_bytes(1000, 1)).id;

  const Packed packed = add(1);

  EXPECT_EQ(packed.id, id);
  EXPECT_FALSE(packed.is_new);
  packer_.close();
  EXPECT_THAT(closed_, IsEmpty()) << "there is nothing in the region";
}

TEST_F(RegionPackerTest, ContentOfTheGroupThatIsBeingCommittedIsADuplicateToo) {
  const ChunkId id = add(1).id;
  packer_.close();
  pending_.freeze();

  EXPECT_EQ(add(1).id, id);
  EXPECT_TRUE(add(2).is_new);
}

// ---------------------------------------------------------------- when a region ends

TEST_F(RegionPackerTest, ARegionEndsInFrontOfTheChunkThatDoesNotFit) {
  add_many(0, 4, kRegionBytes / 4);
  EXPECT_THAT(closed_, IsEmpty()) << "it is full, and none more has come";

  add(4, 1);

  ASSERT_THAT(closed_, SizeIs(1));
  EXPECT_THAT(entries_of(0), SizeIs(4));
  EXPECT_EQ(closed_[0]->used_bytes, kRegionBytes);
}

TEST_F(RegionPackerTest, AChunkThatIsLargerThanARegionHasOneOfItsSize) {
  add(0, 100);
  const ChunkId large = add(1, 3 * kRegionBytes).id;
  add(2, 100);

  ASSERT_THAT(closed_, SizeIs(2));
  EXPECT_THAT(entries_of(0), SizeIs(1));
  EXPECT_THAT(entries_of(1), SizeIs(1));
  EXPECT_EQ(closed_[1]->region->payload.size(), 3 * kRegionBytes);
  EXPECT_EQ(read(large), text_of(random_bytes(3 * kRegionBytes, 1)));
}

TEST_F(RegionPackerTest, ARegionHasSoManyEntriesThatItsDirectoryStaysShort) {
  for (std::uint64_t seed = 0; seed <= 4096; ++seed) packer_.add(fingerprint(seed), ByteBuffer(1, 7));

  ASSERT_THAT(closed_, SizeIs(1));
  EXPECT_THAT(entries_of(0), SizeIs(4096));
}

TEST_F(RegionPackerTest, ClosingEndsARegionThatHoldsSomethingOnce) {
  packer_.close();
  EXPECT_THAT(closed_, IsEmpty());
  add(1);

  packer_.close();
  packer_.close();

  EXPECT_THAT(closed_, SizeIs(1));
  pending_.freeze();
  EXPECT_EQ(pending_.frozen_regions(), closed_) << "it belongs to the group";
}

// ---------------------------------------------------------------- what stands in a region

TEST_F(RegionPackerTest, EntriesLieBackToBackAndAreReadWhileTheRegionIsOpen) {
  const std::vector ids{add(1, 500).id, add(2, 700).id, add(3, 900).id};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read(ids[i]), text_of(random_bytes(500 + 200 * i, i + 1)));
  packer_.close();

  std::uint32_t offset = 0;
  for (const RegionEntry& entry : entries_of(0)) {
    EXPECT_EQ(entry.payload_offset, offset);
    EXPECT_EQ(entry.payload_length, entry.raw_length);
    EXPECT_FALSE(entry.is_delta());
    offset += entry.payload_length;
  }
  EXPECT_EQ(offset, closed_[0]->used_bytes);
}

TEST_F(RegionPackerTest, OfAChunkWithADeltaTheDeltaIsPacked) {
  const ChunkId base = add(1).id;
  const EncodedDelta delta{.bytes = random_bytes(50, 9), .sources = {base}, .depth = 1, .checksum = 77, .base = base};

  const ChunkId id = packer_.add(fingerprint(2), random_bytes(1000, 2), delta).id;
  packer_.close();

  const RegionEntry& entry = entries_of(0).at(1);
  EXPECT_EQ(entry.id, id);
  EXPECT_EQ(entry.fingerprint, fingerprint(2));
  EXPECT_EQ(entry.raw_length, 1000u);
  EXPECT_EQ(entry.payload_length, 50u);
  EXPECT_THAT(entry.sources, ElementsAre(base));
  EXPECT_EQ(entry.depth, 1);
  EXPECT_EQ(entry.checksum, 77u);
  EXPECT_EQ(read(id), text_of(delta.bytes));
  EXPECT_EQ(closed_[0]->extents.at(0).chunks.at(1),
            (ChunkExtent::Chunk{.raw_length = 1000, .delta_length = 50, .sources = {base}}));
}

// They change the index in other ways.
TEST_F(RegionPackerTest, NewChunksThoseThatMoveAndThoseThatCameAgainAreToldApart) {
  RegionEntry stored;
  stored.id = ChunkId{7};
  stored.fingerprint = fingerprint(7);
  stored.raw_length = stored.payload_length = 1000;
  stored.payload_offset = 12'345;

  const ChunkId added = add(1).id;
  EXPECT_TRUE(packer_.add_moved(stored, random_bytes(1000, 7)));
  const Packed again = packer_.add_again(ChunkId{8}, fingerprint(8), random_bytes(1000, 8));
  packer_.close();

  EXPECT_EQ(again.id, ChunkId{8});
  EXPECT_TRUE(again.is_new);
  const PendingRegion& region = *closed_.at(0);
  const auto only = [](const std::vector<ChunkExtent>& extents) {
    return extents.size() == 1 && extents[0].chunks.size() == 1 ? extents[0].first : ChunkId{};
  };
  EXPECT_EQ(only(region.extents), added);
  EXPECT_EQ(only(region.moved), ChunkId{7});
  EXPECT_EQ(only(region.renewed), ChunkId{8});
  EXPECT_EQ(entries_of(0).at(1).payload_offset, 1000u) << "where it is now";
  EXPECT_EQ(read(ChunkId{7}), text_of(random_bytes(1000, 7)));
  EXPECT_EQ(ids_.next(), 164u) << "neither takes an id";
}

TEST_F(RegionPackerTest, WhatSomebodyElseMovesOrStoresAgainIsNotPacked) {
  RegionPacker other(pending_, ids_, kRegionBytes, [](auto) {});
  RegionEntry stored;
  stored.id = ChunkId{7};
  stored.fingerprint = fingerprint(7);
  stored.raw_length = stored.payload_length = 1000;
  ASSERT_TRUE(other.add_moved(stored, random_bytes(1000, 7)));
  ASSERT_TRUE(other.add_again(ChunkId{8}, fingerprint(8), random_bytes(1000, 8)).is_new);

  EXPECT_FALSE(packer_.add_moved(stored, random_bytes(1000, 7)));
  EXPECT_FALSE(packer_.add_again(ChunkId{8}, fingerprint(8), random_bytes(1000, 8)).is_new);
  packer_.close();

  EXPECT_THAT(closed_, IsEmpty());
}

}  // namespace
}  // namespace dedupfs
