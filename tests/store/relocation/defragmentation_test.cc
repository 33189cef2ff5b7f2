#include "store/relocation/relocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reclaimed_volume.h"
#include "store/chunks/dropped_bytes.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kContainers = 12;
constexpr std::uint64_t kInAContainer = 50;  // two regions

// Container after container of chunks, of which one stream came to need one in each.
class DefragmentationTest : public testing::Test {
 protected:
  explicit DefragmentationTest(const std::string& delta = "none") : volume_(delta) {
    for (std::uint64_t i = 0; i < kContainers; ++i) {
      const auto ids = volume_.keep(chunks(i * kInAContainer, (i + 1) * kInAContainer));
      needed_.push_back(ids[7]);
      volume_.begin_container();
    }
  }

  MovedBytes rewrite(const std::vector<ChunkId>& references, unsigned percent = 100) {
    const std::uint64_t bytes = references.size() * kChunkBytes;
    const auto findings =
        volume_.volume().chunks().relocator().defragment({.bytes = bytes, .new_bytes = new_bytes_, .ids = references},
                                                         percent, [](const auto& change) { return change(); });
    EXPECT_TRUE(findings) << findings.error().message();
    EXPECT_TRUE(volume_.commit());
    return findings.value_or(MovedBytes());
  }
  std::set<RegionPlace> places(const std::vector<ChunkId>& ids) {
    std::set<RegionPlace> places;
    for (const ChunkId id : ids) places.insert(volume_.extent_of(id).value().place);
    return places;
  }

  ReclaimedVolume volume_;
  std::vector<ChunkId> needed_;
  std::uint64_t new_bytes_ = 0;
};

TEST_F(DefragmentationTest, WhatAStreamNeedsOfOldContainersLiesTogetherAfterwards) {
  ASSERT_EQ(places(needed_).size(), kContainers);

  const MovedBytes findings = rewrite(needed_);

  EXPECT_EQ(findings.chunks, 9u) << "not those of the youngest quarter";
  EXPECT_EQ(findings.bytes, 9 * kChunkBytes);
  EXPECT_EQ(places({needed_.begin(), needed_.begin() + 9}).size(), 1u);
  EXPECT_THAT(volume_.check(), testing::IsEmpty());
  volume_.expect_kept_for_good();
}

TEST_F(DefragmentationTest, AStreamThatNeedsAllOfARegionLeavesItAlone) {
  std::vector<ChunkId> all;
  for (const auto& [id, chunk] : volume_.kept()) all.push_back(id);

  EXPECT_EQ(rewrite(all).chunks, 0u);
}

TEST_F(DefragmentationTest, WhatWasRewrittenStaysWhereItIs) {
  const std::vector<ChunkId> old(needed_.begin(), needed_.begin() + 9);
  ASSERT_EQ(rewrite(old).chunks, 9u);

  EXPECT_EQ(rewrite(old).chunks, 0u);
  volume_.begin_container();
  EXPECT_EQ(rewrite({old[3]}).chunks, 0u) << "for a stream that needs nothing beside it, too";
}

TEST_F(DefragmentationTest, TheBudgetIsKept) {
  const MovedBytes findings = rewrite(needed_, 50);

  EXPECT_EQ(findings.chunks, kContainers / 2);
  EXPECT_EQ(rewrite(needed_, 1).chunks, 0u);
}

TEST_F(DefragmentationTest, ContentThatComesAgainIsFoundWhereItIsNow) {
  rewrite(needed_);

  EXPECT_THAT(volume_.put({random_chunk(7)}), ElementsAre(needed_[0]));
}

TEST_F(DefragmentationTest, AReclaimTakesTheFormerCopies) {
  const std::uint64_t before = volume_.container_bytes();
  const std::uint64_t dropped = volume_.volume().chunks().dropped().count();
  rewrite(needed_);
  EXPECT_EQ(volume_.volume().chunks().dropped().count(), dropped + 9 * kChunkBytes) << "it is told what to find";
  ASSERT_GT(volume_.container_bytes(), before);

  volume_.settings.garbage_left = 0;
  reclaim(volume_);

  EXPECT_LE(volume_.container_bytes(), before);
  volume_.expect_kept_for_good();
}

TEST_F(DefragmentationTest, WhatCannotBeReadStaysAndTheRestMoves) {
  volume_.damage_payload_of(needed_[2]);
  volume_.reopen();

  EXPECT_EQ(rewrite(needed_).chunks, 8u);

  EXPECT_EQ(places({needed_.begin(), needed_.begin() + 2}).size(), 1u);
  EXPECT_FALSE(volume_.volume().chunks().get(needed_[2]));
}

TEST_F(DefragmentationTest, ChunksThatAreGoneAreNotMissed) {
  EXPECT_EQ(rewrite({ChunkId{1'000'000}, needed_[0], needed_[1]}).chunks, 2u);
}

TEST_F(DefragmentationTest, WhatIsBeingStoredAnewIsLeftToWhoDoesIt) {
  volume_.damage_payload_of(needed_[0]);
  volume_.reopen();
  ASSERT_FALSE(volume_.volume().chunks().get(needed_[0]));
  ASSERT_THAT(volume_.put({random_chunk(7)}), ElementsAre(needed_[0]));

  EXPECT_EQ(rewrite({needed_[0], needed_[1]}).chunks, 1u);

  EXPECT_TRUE(volume_.reads_as(needed_[0], random_chunk(7)));
  EXPECT_TRUE(volume_.reads_as(needed_[1], random_chunk(kInAContainer + 7)));
}

class DefragmentationOfDeltasTest : public DefragmentationTest {
 protected:
  DefragmentationOfDeltasTest() : DefragmentationTest("odess+:depth=4,neighbours=0") {
    for (std::uint64_t i = 0; i < kContainers; ++i) {
      deltas_.push_back(volume_.keep(edited(random_chunk(i * kInAContainer + 7))));
      EXPECT_THAT(volume_.sources_of(deltas_.back()), testing::IsEmpty()) << "not committed";
    }
    volume_.begin_container();
    new_bytes_ = kContainers * kChunkBytes;
  }

  std::vector<ChunkId> deltas_;
};

TEST_F(DefragmentationOfDeltasTest, DeltasWhoseSourcesLieScatteredAreDeltasNoMore) {
  for (const ChunkId id : deltas_) ASSERT_TRUE(volume_.is_delta(id));

  EXPECT_EQ(rewrite(deltas_).chunks, kContainers);

  for (const ChunkId id : deltas_) EXPECT_FALSE(volume_.is_delta(id));
  EXPECT_EQ(places(deltas_).size(), 1u);
  EXPECT_THAT(volume_.check(), testing::IsEmpty());
  volume_.expect_kept_for_good();
}

TEST_F(DefragmentationOfDeltasTest, VolumesGrowByAShareOfWhatIsNew) {
  new_bytes_ = 4 * kChunkBytes;
  EXPECT_EQ(rewrite(deltas_, 50).chunks, 2u);
  new_bytes_ = 0;
  EXPECT_EQ(rewrite(deltas_).chunks, 0u);
}

TEST_F(DefragmentationOfDeltasTest, TheirSourcesGoWithTheirLastFile) {
  rewrite(deltas_);
  for (const ChunkId id : needed_) volume_.drop(id);

  EXPECT_EQ(reclaim(volume_).erased_chunks, kContainers);
  volume_.expect_kept_for_good();
}

}  // namespace
}  // namespace dedupfs
