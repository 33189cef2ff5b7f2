// Which containers a reclaim empties, and what is known of the garbage that is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "reclaimed_volume.h"
#include "store/chunks/dropped_bytes.h"
#include "word_text.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ReclaimCopyForward, AContainerWithLittleGarbageStays) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 300));
  volume.begin_container();
  for (std::size_t i = 0; i < 5; ++i) volume.drop(ids[i * 50]);

  const ReclaimFindings findings = reclaim(volume);

  EXPECT_EQ(findings.erased_chunks, 5u);
  EXPECT_EQ(findings.emptied_containers, 0u);
  EXPECT_GE(findings.garbage_bytes, 5 * kChunkBytes);
  EXPECT_LT(findings.garbage_bytes, 6 * kChunkBytes);
  EXPECT_THAT(volume.containers(), ElementsAre(1));
  volume.expect_kept_for_good();
}

TEST(ReclaimCopyForward, ContainersAreSweptUntilLittleEnoughGarbageIsLeft) {
  ReclaimedVolume volume;
  const auto half = volume.keep(chunks(0, 300));
  volume.begin_container();
  const auto tenth = volume.keep(chunks(300, 600));
  volume.begin_container();
  for (std::size_t i = 0; i < 150; ++i) volume.drop(half[2 * i]);
  for (std::size_t i = 0; i < 30; ++i) volume.drop(tenth[10 * i]);
  volume.settings.garbage_left = 0.1;

  EXPECT_EQ(reclaim(volume).emptied_containers, 1u);
  EXPECT_FALSE(volume.containers().empty());
  EXPECT_EQ(volume.containers().front(), 2u) << "the one with less garbage is left";

  volume.settings.garbage_left = 0.01;
  EXPECT_GE(reclaim(volume).emptied_containers, 1u);
  EXPECT_GT(volume.containers().front(), 2u);
  volume.expect_kept_for_good();
}

// A store that wants the price of 30 days for each object: what is deleted earlier saves nothing there.
TEST(ReclaimCopyForward, AContainerThatIsTooYoungStaysUnlessItIsEmpty) {
  ReclaimedVolume volume;
  const auto young = volume.keep(chunks(0, 100));
  volume.begin_container();
  const auto old = volume.keep(chunks(100, 200));
  volume.begin_container();
  const auto empty = volume.keep(chunks(200, 300));
  volume.begin_container();
  for (std::size_t i = 0; i < 80; ++i) {
    volume.drop(young[i]);
    volume.drop(old[i]);
  }
  for (const ChunkId id : empty) volume.drop(id);
  volume.least_age = std::chrono::days(30);
  volume.make_older(1, std::chrono::days(29));
  volume.make_older(2, std::chrono::days(31));

  const ReclaimFindings findings = reclaim(volume);

  EXPECT_EQ(findings.emptied_containers, 2u);
  EXPECT_GE(findings.garbage_bytes, 80 * kChunkBytes) << "that of the young one is left";
  ASSERT_FALSE(volume.containers().empty());
  EXPECT_EQ(volume.containers().front(), 1u);
  EXPECT_THAT(volume.containers(), testing::Not(testing::Contains(2u)));
  EXPECT_THAT(volume.containers(), testing::Not(testing::Contains(3u)));

  volume.least_age = std::chrono::days(29);
  EXPECT_EQ(reclaim(volume).emptied_containers, 1u);
  EXPECT_THAT(volume.containers(), testing::Not(testing::Contains(1u)));
  volume.expect_kept_for_good();
}

// Every second chunk of a container is dropped; a file refers to the others in an order of its own.
struct Shuffled {
  ReclaimedVolume volume;
  std::vector<ChunkId> order;

  Shuffled() {
    const auto ids = volume.keep(chunks(0, 300));
    volume.begin_container();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i % 2 == 0)
        volume.drop(ids[i]);
      else
        order.push_back(ids[i]);
    }
    std::ranges::shuffle(order, std::mt19937(1));
    volume.newest = order;
  }
  // Who reads them in that order comes to each region once. Which of two regions is written first is chance.
  bool is_in_order() {
    std::vector<RegionPlace> places;
    for (const ChunkId id : order) {
      const RegionPlace place = volume.extent_of(id).value().place;
      if (places.empty() || places.back() != place) places.push_back(place);
    }
    return std::set<RegionPlace>(places.begin(), places.end()).size() == places.size();
  }
};

TEST(ReclaimCopyForward, WhatMovesLiesInTheOrderInWhichTheNewestFilesReferToIt) {
  Shuffled shuffled;
  ASSERT_FALSE(shuffled.is_in_order());
  EXPECT_EQ(reclaim(shuffled.volume).emptied_containers, 1u);
  EXPECT_TRUE(shuffled.is_in_order());
  EXPECT_EQ(shuffled.volume.containers().front(), 2u);
  shuffled.volume.expect_kept_for_good();
}

TEST(ReclaimCopyForward, WhatTheNewestFilesDoNotNeedMovesWithTheRest) {
  Shuffled shuffled;
  shuffled.order.resize(shuffled.order.size() / 2);
  shuffled.volume.newest = shuffled.order;
  EXPECT_EQ(reclaim(shuffled.volume).emptied_containers, 1u);
  EXPECT_TRUE(shuffled.is_in_order());
  EXPECT_EQ(shuffled.volume.containers().front(), 2u);
  shuffled.volume.expect_kept_for_good();
}

TEST(ReclaimCopyForward, WhereRoomIsScarceOneContainerIsEmptiedAfterTheOther) {
  ReclaimedVolume volume;
  for (std::uint64_t container = 0; container < 4; ++container) {
    const auto ids = volume.keep(chunks(200 * container, 200 * container + 200));
    volume.begin_container();
    for (std::size_t i = 0; i < ids.size(); i += 2) volume.drop(ids[i]);
  }
  volume.available_bytes = 120 * kChunkBytes;  // each has 100
  EXPECT_EQ(reclaim(volume).emptied_containers, 4u);
  volume.expect_kept_for_good();
}

TEST(ReclaimCopyForward, WhereThereIsNoRoomForTwoCopiesItMovesAsItLies) {
  Shuffled shuffled;
  shuffled.volume.available_bytes = 160 * kChunkBytes;
  EXPECT_EQ(reclaim(shuffled.volume).emptied_containers, 1u);
  EXPECT_FALSE(shuffled.is_in_order());
  shuffled.volume.expect_kept_for_good();
}

TEST(ReclaimCopyForward, WhatMovesIsCompressedForGood) {
  ReclaimedVolume volume("none", "zstd:6");
  const auto dropped = volume.keep({word_text(1 << 20, 100), word_text(1 << 20, 101)});
  std::vector<ByteBuffer> texts;
  for (std::uint64_t i = 0; i < 20; ++i) texts.push_back(word_text(kChunkBytes, i));
  const auto ids = volume.keep(texts);
  volume.begin_container();
  const ChunkExtent before = volume.extent_of(ids[0]).value();
  volume.newest = ids;
  for (const ChunkId id : dropped) volume.drop(id);

  EXPECT_EQ(reclaim(volume).emptied_containers, 1u);

  const ChunkExtent after = volume.extent_of(ids[0]).value();
  EXPECT_EQ(after.region_payload_bytes, before.region_payload_bytes);
  EXPECT_LT(after.region_disk_bytes, before.region_disk_bytes);
  volume.expect_kept_for_good();
}

TEST(ReclaimCopyForward, SmallContainersAreJoined) {
  ReclaimedVolume volume;
  for (std::uint64_t i = 0; i < 5; ++i) {
    volume.keep(random_chunk(i));
    volume.begin_container();
  }
  ASSERT_THAT(volume.containers(), SizeIs(5));

  reclaim(volume);

  EXPECT_THAT(volume.containers(), SizeIs(1));
  volume.expect_kept_for_good();
  reclaim(volume);
  EXPECT_THAT(volume.containers(), SizeIs(1));
}

TEST(ReclaimCopyForward, WhatACrashLeftInContainersGoes) {
  ReclaimedVolume volume;
  volume.keep(chunks(0, 5));
  volume.begin_container();
  volume.put(chunks(5, 50));
  volume.reopen();  // nothing of it was committed
  ASSERT_THAT(volume.containers(), SizeIs(2));

  EXPECT_EQ(reclaim(volume).emptied_containers, 1u);

  EXPECT_THAT(volume.containers(), SizeIs(1));
  volume.expect_kept_for_good();
}

TEST(ReclaimCopyForward, WithoutRoomToMoveOnlyEmptyContainersGo) {
  ReclaimedVolume volume;
  const auto empty = volume.keep(chunks(0, 10));
  volume.begin_container();
  const auto half = volume.keep(chunks(10, 20));
  volume.begin_container();
  for (const ChunkId id : empty) volume.drop(id);
  for (std::size_t i = 0; i < 5; ++i) volume.drop(half[i]);
  volume.available_bytes = 1000;

  const ReclaimFindings findings = reclaim(volume);

  EXPECT_EQ(findings.emptied_containers, 1u);
  EXPECT_EQ(findings.moved_bytes, 0u);
  EXPECT_GE(findings.garbage_bytes, 5 * kChunkBytes);
  EXPECT_TRUE(findings.lacked_room);
  EXPECT_THAT(volume.containers(), ElementsAre(2));
  volume.expect_kept_for_good();

  volume.available_bytes = 1 << 30;
  const ReclaimFindings with_room = reclaim(volume);
  EXPECT_EQ(with_room.emptied_containers, 1u);
  EXPECT_FALSE(with_room.lacked_room);
  volume.expect_kept_for_good();
}

TEST(ReclaimCopyForward, AContainerThatCannotBeRemovedIsTakenByTheNextReclaim) {
  ReclaimedVolume volume;
  volume.keep(random_chunk(0));
  volume.begin_container();
  const auto ids = volume.keep(chunks(1, 10));
  for (const ChunkId id : ids) volume.drop(id);
  volume.backing().fault = [](const std::string& operation, const Path& path) -> std::optional<Error> {
    if (operation == "unlink" && path.extension() == ".container") return Error{ErrorCode::kIo, "made to fail"};
    return {};
  };
  reclaim(volume);
  volume.backing().fault = nullptr;
  EXPECT_THAT(volume.check(), IsEmpty());

  reclaim(volume);

  EXPECT_LT(volume.container_bytes(), 2 * kChunkBytes);
  volume.expect_kept_for_good();
}

// ---------------------------------------------------------------- how much may be garbage

TEST(ReclaimCopyForward, WhatWasDroppedBeforeIsForgottenAndWhatIsDroppedMeanwhileIsNot) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 3));
  volume.drop(ids[0]);
  volume.volume().chunks().dropped().add(kChunkBytes);
  volume.before_erasing = [&] { volume.volume().chunks().dropped().add(100); };

  reclaim(volume);

  EXPECT_EQ(volume.volume().chunks().dropped().count(), 100u);
  volume.keep(random_chunk(50));
  volume.expect_kept_for_good();
  EXPECT_EQ(volume.volume().chunks().dropped().count(), 100u) << "remembered over mounts";
}

TEST(ReclaimCopyForward, OneThatWasInterruptedForgetsNothingOfWhatWasDropped) {
  ReclaimedVolume volume;
  volume.keep(random_chunk(0));
  volume.volume().chunks().dropped().add(5000);
  volume.progress = [](ReclaimPhase) -> Result<void> { return stopped(); };

  EXPECT_FALSE(volume.reclaim());

  EXPECT_EQ(volume.volume().chunks().dropped().count(), 5000u);
}

}  // namespace
}  // namespace dedupfs
