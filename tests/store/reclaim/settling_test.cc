// Settling: a reclaim with the goal kSettle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reclaimed_volume.h"
#include "store/reclaim/reclaim.h"
#include "word_text.h"

namespace dedupfs {
namespace {

ByteBuffer text_chunk(std::uint64_t seed) {
  return word_text(20'000, seed);
}

class SettlingTest : public testing::Test {
 protected:
  void land() {
    std::vector<ByteBuffer> chunks;
    for (int i = 0; i < 100; ++i) chunks.push_back(text_chunk(next_seed_++));
    ids_ = volume_.keep(chunks);
    ASSERT_TRUE(volume_.commit());
    ASSERT_GT(landed_bytes(), 0u);
  }
  Result<ReclaimFindings> settle() {
    volume_.settings.goal = ReclaimGoal::kSettle;
    return volume_.reclaim();
  }
  std::uint64_t landed_bytes() { return volume_.volume().containers().landed_bytes().value(); }
  std::uint64_t container_bytes() {
    const auto containers = volume_.volume().containers().list().value();
    std::uint64_t bytes = 0;
    for (const ContainerInfo& container : containers) bytes += container.bytes;
    return bytes;
  }

  ReclaimedVolume volume_{"none", "zstd:9"};
  std::vector<ChunkId> ids_;

 private:
  std::uint64_t next_seed_ = 0;
};

TEST_F(SettlingTest, MakesLandedChunksSmallerAndChangesNoByte) {
  land();
  const std::uint64_t before = container_bytes();
  const std::uint64_t landed = landed_bytes();

  const auto findings = settle();

  ASSERT_TRUE(findings) << findings.error().message();
  EXPECT_EQ(landed_bytes(), 0u);
  EXPECT_LT(container_bytes(), before);
  EXPECT_NEAR(static_cast<double>(findings->emptied_bytes), static_cast<double>(landed),
              1000.0);  // it ends with a trailer
  EXPECT_NEAR(static_cast<double>(findings->freed_bytes()), static_cast<double>(before - container_bytes()), 1000.0);
  EXPECT_EQ(findings->erased_chunks, 0u);
  volume_.expect_kept_for_good();
}

// A limit of the rate counts what moves while it moves. Otherwise what a batch moves would count at its end, in one sum.
TEST_F(SettlingTest, WhatMovesCountsBeforeItsContainerIsEmptied) {
  land();
  land();
  std::uint64_t counted = 0;
  std::uint64_t before_the_first_is_emptied = 0;
  volume_.settings.goal = ReclaimGoal::kSettle;

  const auto findings = dedupfs::reclaim(volume_.volume(), volume_.host(), volume_.settings,
                                         [&](ReclaimPhase, double, const ReclaimFindings& so_far) -> Result<void> {
                                           EXPECT_GE(so_far.moved_bytes + so_far.under_way_bytes, counted);
                                           counted = so_far.moved_bytes + so_far.under_way_bytes;
                                           if (so_far.emptied_containers == 0) before_the_first_is_emptied = counted;
                                           return {};
                                         });

  ASSERT_TRUE(findings) << findings.error().message();
  EXPECT_GT(before_the_first_is_emptied, findings->moved_bytes / 4) << "half of the chunks move in order";
  EXPECT_EQ(findings->under_way_bytes, 0u);
}

TEST_F(SettlingTest, NothingIsSettledTwice) {
  land();
  ASSERT_TRUE(settle());

  const auto again = settle();

  ASSERT_TRUE(again);
  EXPECT_EQ(again->emptied_containers, 0u);
  EXPECT_EQ(again->stored_bytes, 0u);
}

TEST_F(SettlingTest, WhatLandsLaterIsSettledByTheNextOne) {
  land();
  ASSERT_TRUE(settle());
  land();

  const auto again = settle();

  ASSERT_TRUE(again);
  EXPECT_GT(again->emptied_containers, 0u);
  EXPECT_EQ(landed_bytes(), 0u);
  volume_.expect_kept_for_good();
}

TEST_F(SettlingTest, DeletedChunksThatNoReclaimHasErasedYetStayReadable) {
  land();
  volume_.drop(ids_[1]);
  ASSERT_TRUE(volume_.commit());

  ASSERT_TRUE(settle());

  EXPECT_TRUE(volume_.has(ids_[1]));
  EXPECT_TRUE(volume_.reads_as(ids_[1], text_chunk(1)));
}

TEST_F(SettlingTest, OneThatIsStoppedIsFinishedByTheNext) {
  land();
  volume_.progress = [](ReclaimPhase) -> Result<void> { return stopped(); };
  ASSERT_FALSE(settle());
  volume_.expect_kept();

  ASSERT_TRUE(settle());

  EXPECT_EQ(landed_bytes(), 0u);
  volume_.expect_kept_for_good();
}

TEST_F(SettlingTest, OnADiskWithoutRoomNothingIsLost) {
  land();
  volume_.available_bytes = 0;

  const auto findings = settle();

  ASSERT_TRUE(findings);
  EXPECT_TRUE(findings->lacked_room);
  EXPECT_GT(landed_bytes(), 0u);
  volume_.expect_kept_for_good();
}

TEST_F(SettlingTest, TheNextMountLooksOnlyAtContainersThatMayNeedSettling) {
  land();
  ASSERT_TRUE(settle());
  ASSERT_EQ(landed_bytes(), 0u);
  const std::uint32_t first = volume_.volume().containers().first_landed();
  ASSERT_TRUE(volume_.commit());

  volume_.reopen();

  EXPECT_GT(first, 1u);
  EXPECT_EQ(volume_.volume().containers().first_landed(), first);
}

}  // namespace
}  // namespace dedupfs
