#include "store/reclaim/reclaim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reclaimed_volume.h"
#include "store/check/scrubber.h"
#include "store/chunks/damage_record.h"
#include "support/peak_memory.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// ---------------------------------------------------------------- what goes and what stays

TEST(Reclaim, WhatNobodyRefersToLeavesIndexAndContainers) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 10));
  volume.drop(ids, {0, 3, 4, 9});

  const ReclaimFindings findings = reclaim(volume);

  EXPECT_EQ(findings.erased_chunks, 4u);
  EXPECT_EQ(findings.live_chunks, 6u);
  EXPECT_EQ(findings.emptied_containers, 1u);
  EXPECT_EQ(volume.chunks(), (std::set{ids[1], ids[2], ids[5], ids[6], ids[7], ids[8]}));
  EXPECT_EQ(volume.entries(Family::kFingerprints), 6u);
  EXPECT_LT(volume.container_bytes(), 6 * kChunkBytes * 11 / 10);
  volume.expect_kept_for_good();
  EXPECT_THAT(volume.check(), IsEmpty());
  EXPECT_THAT(volume.check("note: "), IsEmpty());
}

TEST(Reclaim, FindingsSayWhatWasFreedAndMoved) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 10));
  for (std::size_t i = 0; i < 6; ++i) volume.drop(ids[i]);
  ASSERT_TRUE(volume.commit());
  (void)volume.volume().containers().begin_new_container();
  const std::uint64_t before = volume.container_bytes();

  const ReclaimFindings findings = reclaim(volume);

  EXPECT_EQ(findings.emptied_bytes, before);
  EXPECT_NEAR(static_cast<double>(findings.moved_bytes), 4.0 * kChunkBytes, 0.02 * kChunkBytes * 4);
  EXPECT_EQ(findings.garbage_bytes, 0u);
}

TEST(Reclaim, OfAVolumeFromWhichEverythingWasDroppedNothingIsLeft) {
  ReclaimedVolume volume;
  for (const std::uint64_t from : {0u, 20u, 40u}) {
    volume.keep(chunks(from, from + 20));
    volume.begin_container();
  }
  volume.drop_all();

  const ReclaimFindings findings = reclaim(volume);

  EXPECT_EQ(findings.erased_chunks, 60u);
  EXPECT_EQ(findings.moved_bytes, 0u);
  EXPECT_THAT(volume.containers(), IsEmpty());
  EXPECT_EQ(volume.entries(Family::kChunks), 0u);
  EXPECT_EQ(volume.entries(Family::kFingerprints), 0u);
  volume.keep(chunks(10, 30));
  volume.expect_kept_for_good();
  EXPECT_THAT(volume.check(), IsEmpty());
}

TEST(Reclaim, LeavesNoLogOfWhatIsGone) {
  ReclaimedVolume volume;
  std::vector<ByteBuffer> many;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) many.push_back(random_bytes(64, seed));
  volume.keep(many);
  volume.begin_container();
  ASSERT_GT(volume.index_bytes(), 400u << 10);
  volume.drop_all();

  reclaim(volume);

  EXPECT_LT(volume.index_bytes(), 200u << 10);
}

TEST(Reclaim, OfANewVolumeFindsNothing) {
  ReclaimedVolume volume;

  const ReclaimFindings findings = reclaim(volume);

  EXPECT_EQ(findings.live_chunks + findings.erased_chunks + findings.emptied_containers, 0u);
}

TEST(Reclaim, IdsThatWereGivenAwayLongAgoTakeNoMemory) {
  ReclaimedVolume volume(std::string(kDefaultDeltaSettings), "none");
  const auto old_ids = volume.keep(chunks(0, 10));
  ASSERT_TRUE(volume.commit());
  volume.reopen_with_next_chunk(16'000'000'000);
  const auto new_ids = volume.keep(chunks(10, 20));
  volume.drop(old_ids, {1, 2});
  volume.drop(new_ids, {3, 4});
  const PeakMemory memory;

  const ReclaimFindings findings = reclaim(volume);

  EXPECT_GE(number_of(new_ids[0]), 16'000'000'000u);
  EXPECT_EQ(findings.erased_chunks, 4u);
  EXPECT_LT(memory.growth_bytes(), 256u << 20) << "flat bits took three GB";
  volume.expect_kept_for_good();
}

TEST(Reclaim, ReferencesToIdsAllOverThePlaceEndItAndEraseNothing) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 10));
  volume.drop(ids, {3});
  ASSERT_TRUE(volume.commit());
  ReclaimHost host = volume.host();
  constexpr std::uint64_t kApart = std::uint64_t{1} << 30;
  host.references = [](const auto&, const auto& visit) -> Result<void> {
    for (std::uint64_t i = 0; i < 200'000; ++i) DEDUPFS_TRY(visit(ChunkId{i * kApart}, 0.5));
    return {};
  };
  volume.reopen_with_next_chunk(200'000 * kApart);
  const PeakMemory memory;

  const auto findings =
      dedupfs::reclaim(volume.volume(), host, {}, [](auto, double, const auto&) { return Result<void>(); });

  ASSERT_FALSE(findings);
  EXPECT_EQ(findings.error().code(), ErrorCode::kNoMemory);
  EXPECT_LT(memory.growth_bytes(), 256u << 20);
  EXPECT_EQ(volume.chunks().size(), 10u);
}

TEST(Reclaim, OfAVolumeInWhichAllIsInUseChangesNothing) {
  ReclaimedVolume volume;
  volume.keep(chunks(0, 20));
  volume.begin_container();
  const auto containers = volume.containers();
  const auto ids = volume.chunks();

  const ReclaimFindings findings = reclaim(volume);

  EXPECT_EQ(findings.live_chunks, 20u);
  EXPECT_EQ(findings.emptied_containers, 0u);
  EXPECT_EQ(volume.containers(), containers);
  EXPECT_EQ(volume.chunks(), ids);
}

TEST(Reclaim, ContentThatComesBackAfterwardsIsStoredAnew) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 4));
  volume.drop(ids[1]);
  reclaim(volume);

  const ChunkId again = volume.keep(random_chunk(1));

  EXPECT_NE(again, ids[1]);
  volume.expect_kept_for_good();
}

// Neighbours are loaded from the directories of regions, in which the erased ones stand still.
TEST(Reclaim, ErasedChunksAreNotFoundAgainBesideTheirNeighbours) {
  ReclaimedVolume volume;
  const auto many = chunks(0, 100);
  const auto ids = volume.keep(many);
  volume.begin_container();
  volume.drop(ids[20]);  // too little for a container to be swept
  reclaim(volume);
  ASSERT_EQ(volume.extent_of(ids[0])->place.container, 1u);
  ASSERT_TRUE(volume.commit());
  volume.reopen();

  EXPECT_EQ(volume.keep(many[19]), ids[19]);
  EXPECT_NE(volume.keep(many[20]), ids[20]);

  volume.expect_kept_for_good();
}

// ---------------------------------------------------------------- deltas

// Without storing any of them anew: see rebase_test.cc.
class ReclaimOfDeltas : public testing::Test {
 protected:
  ReclaimOfDeltas() { volume_.settings.bases_left = 2; }

  // Each was made from the one before.
  std::vector<ChunkId> keep_versions(std::size_t count) {
    std::vector<ChunkId> ids;
    ByteBuffer version = random_chunk(1);
    for (std::size_t i = 0; i < count; ++i) {
      version[(i * 977) % version.size()] ^= 0x55;
      ids.push_back(volume_.keep(version));
      EXPECT_TRUE(volume_.commit());
    }
    for (std::size_t i = 1; i < count; ++i) EXPECT_THAT(volume_.sources_of(ids[i]), ElementsAre(ids[i - 1]));
    return ids;
  }
  ByteBuffer near(ChunkId id) {
    const std::string content = volume_.read(id);
    return edited(ByteBuffer(content.begin(), content.end()));
  }

  ReclaimedVolume volume_{"odess+:depth=8,neighbours=0"};
};

TEST_F(ReclaimOfDeltas, SourcesStayAsLongAsADeltaNeedsThemHoweverDeep) {
  const auto versions = keep_versions(6);
  for (std::size_t i = 0; i < 5; ++i) volume_.drop(versions[i]);

  EXPECT_EQ(reclaim(volume_).erased_chunks, 0u);
  volume_.expect_kept_for_good();

  volume_.drop(versions[5]);
  EXPECT_EQ(reclaim(volume_).erased_chunks, 6u);
  EXPECT_THAT(volume_.containers(), IsEmpty());
}

TEST_F(ReclaimOfDeltas, DeltasThatNobodyNeedsGoAndTheirSourcesStay) {
  const auto versions = keep_versions(6);
  volume_.drop(versions, {0, 1, 3, 4, 5});

  EXPECT_EQ(reclaim(volume_).erased_chunks, 3u);

  EXPECT_EQ(volume_.chunks(), (std::set{versions[0], versions[1], versions[2]}));
  volume_.expect_kept_for_good();
  EXPECT_THAT(volume_.check(), IsEmpty());
}

TEST_F(ReclaimOfDeltas, DeltasStayDeltasWhereTheyMove) {
  const auto garbage = volume_.keep(chunks(100, 110));
  const auto versions = keep_versions(4);
  for (const ChunkId id : garbage) volume_.drop(id);

  EXPECT_EQ(reclaim(volume_).emptied_containers, 1u);

  EXPECT_TRUE(volume_.is_delta(versions[3]));
  EXPECT_LT(volume_.container_bytes(), 2 * kChunkBytes);
  volume_.expect_kept_for_good();
  EXPECT_THAT(volume_.check(), IsEmpty());
}

TEST_F(ReclaimOfDeltas, ADuplicateOfADeltaKeepsItsSourcesWhenItComesWhileMarking) {
  const auto versions = keep_versions(4);
  const std::string content = volume_.read(versions[3]);
  volume_.drop_all();
  volume_.while_marking = [&] { EXPECT_EQ(volume_.keep(ByteBuffer(content.begin(), content.end())), versions[3]); };

  EXPECT_EQ(reclaim(volume_).erased_chunks, 0u);

  volume_.expect_kept_for_good();
}

TEST_F(ReclaimOfDeltas, ADuplicateOfADeltaKeepsItsSourcesWhenItComesAfterAllIsMarked) {
  const auto versions = keep_versions(4);
  const std::string content = volume_.read(versions[3]);
  volume_.drop_all();
  volume_.before_erasing = [&] { EXPECT_EQ(volume_.keep(ByteBuffer(content.begin(), content.end())), versions[3]); };

  EXPECT_EQ(reclaim(volume_).erased_chunks, 0u);

  volume_.expect_kept_for_good();
}

TEST_F(ReclaimOfDeltas, ADeltaThatIsMadeWhileMarkingKeepsItsSources) {
  const auto versions = keep_versions(4);
  const ByteBuffer next = near(versions[3]);
  volume_.drop_all();
  ChunkId made{};
  volume_.before_erasing = [&] { made = volume_.keep(next); };

  EXPECT_EQ(reclaim(volume_).erased_chunks, 0u);

  EXPECT_THAT(volume_.sources_of(made), ElementsAre(versions[3]));
  volume_.expect_kept_for_good();
}

TEST_F(ReclaimOfDeltas, NoDeltaIsMadeFromTheDeadWhileTheyAreErased) {
  const auto versions = keep_versions(4);
  volume_.keep(random_chunk(50));
  const ByteBuffer next = near(versions[3]);
  for (const ChunkId id : versions) volume_.drop(id);
  ChunkId made{};
  volume_.at_erased_extent(1, 1, [&]() -> Result<void> {
    made = volume_.keep(next);
    return {};
  });

  EXPECT_EQ(reclaim(volume_).erased_chunks, 4u);

  ASSERT_TRUE(volume_.has(made));
  EXPECT_FALSE(volume_.is_delta(made));
  volume_.expect_kept_for_good();
}

// The base is found by its place in the stream. It is in caches still, and so is where it was.
TEST_F(ReclaimOfDeltas, NoDeltaIsMadeFromTheDeadAfterwards) {
  const auto ids = volume_.keep(chunks(0, 30));
  ASSERT_TRUE(volume_.commit());
  const ByteBuffer next = near(ids[1]);
  volume_.drop(ids[1]);
  volume_.settings.garbage_left = 0.5;  // or what is left would move
  const ReclaimFindings findings = reclaim(volume_);
  ASSERT_EQ(findings.erased_chunks, 1u);
  ASSERT_EQ(findings.emptied_containers, 0u);

  const auto stream = volume_.keep({random_chunk(0), next});

  ASSERT_EQ(stream[0], ids[0]);
  ASSERT_TRUE(volume_.commit());
  EXPECT_FALSE(volume_.is_delta(stream[1]));
  volume_.expect_kept_for_good();
}

TEST_F(ReclaimOfDeltas, FeaturesOfTheDeadAreForgotten) {
  const auto ids = volume_.keep(chunks(0, 4));
  ASSERT_TRUE(volume_.commit());
  const std::size_t features = volume_.entries(Family::kFeatureIndex);
  ASSERT_GT(features, 0u);
  volume_.drop(ids, {0, 2});

  reclaim(volume_);

  EXPECT_EQ(volume_.entries(Family::kFeatureIndex), features / 2);
  const ChunkId like_dead = volume_.keep(edited(random_chunk(0)));
  const ChunkId like_live = volume_.keep(edited(random_chunk(1)));
  ASSERT_TRUE(volume_.commit());
  EXPECT_FALSE(volume_.is_delta(like_dead));
  EXPECT_TRUE(volume_.is_delta(like_live));
}

// ---------------------------------------------------------------- writers beside it

TEST(Reclaim, ADuplicateThatComesWhileMarkingIsLive) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 6));
  volume.drop(ids, {1, 2, 4});
  volume.while_marking = [&] { EXPECT_EQ(volume.keep(random_chunk(1)), ids[1]); };
  volume.before_erasing = [&] { EXPECT_EQ(volume.keep(random_chunk(4)), ids[4]); };

  EXPECT_EQ(reclaim(volume).erased_chunks, 1u);

  EXPECT_FALSE(volume.has(ids[2]));
  volume.expect_kept_for_good();
}

TEST(Reclaim, NewContentThatComesWhileMarkingIsLive) {
  ReclaimedVolume volume;
  volume.keep(chunks(0, 3));
  volume.while_marking = [&] { volume.keep(random_chunk(10)); };
  volume.before_erasing = [&] {
    volume.keep(random_chunk(11));
    EXPECT_TRUE(volume.commit());
    volume.keep(random_chunk(12));
  };

  EXPECT_EQ(reclaim(volume).erased_chunks, 0u);

  EXPECT_EQ(volume.kept().size(), 6u);
  volume.expect_kept_for_good();
}

TEST(Reclaim, ADuplicateThatComesWhileErasingIsStoredAnewOnce) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 6));
  volume.begin_container();
  volume.keep(random_chunk(6));
  ASSERT_TRUE(volume.commit());
  volume.drop(ids, {1, 4});
  bool was_erasing = false;
  volume.at_erased_extent(0, 1, [&]() -> Result<void> {
    was_erasing = true;
    EXPECT_EQ(volume.keep(random_chunk(0)), ids[0]);
    const ChunkId again = volume.keep(random_chunk(1));
    EXPECT_NE(again, ids[1]);
    EXPECT_EQ(volume.keep(random_chunk(1)), again);
    return {};
  });

  EXPECT_EQ(reclaim(volume).erased_chunks, 2u);

  EXPECT_TRUE(was_erasing);
  volume.expect_kept_for_good();
  EXPECT_EQ(volume.entries(Family::kFingerprints), volume.chunks().size());
  EXPECT_THAT(volume.check(), IsEmpty());
}

TEST(Reclaim, WhatIsWrittenWhileContainersAreSweptStays) {
  ReclaimedVolume volume;
  const auto ids = volume.keep(chunks(0, 6));
  volume.drop(ids, {1, 4});
  bool was_copying = false;
  volume.progress = [&](ReclaimPhase phase) -> Result<void> {
    if (phase != ReclaimPhase::kCopyForward || std::exchange(was_copying, true)) return {};
    EXPECT_EQ(volume.keep(random_chunk(0)), ids[0]);
    volume.keep(random_chunk(1));
    volume.keep(random_chunk(20));
    return {};
  };

  reclaim(volume);

  EXPECT_TRUE(was_copying);
  volume.expect_kept_for_good();
}

// It reads the index some extents ahead.
TEST(Reclaim, AScrubThatItOvertakesTakesNothingForDamaged) {
  ReclaimedVolume volume;
  for (std::uint64_t i = 0; i < 4; ++i) {
    volume.keep(random_chunk(i));
    volume.begin_container();
  }
  volume.drop(std::prev(volume.kept().end())->first);
  bool reclaimed = false;
  volume.backing().fault = [&](const std::string& operation, const Path&) -> std::optional<Error> {
    if (operation == "drop_cached" && !std::exchange(reclaimed, true)) reclaim(volume);
    return {};
  };
  std::promise<ScrubFindings> ended;
  Scrubber scrubber(volume.volume(), {.ended = [&](const ScrubFindings& findings) { ended.set_value(findings); }});

  ASSERT_TRUE(scrubber.start(0));
  const ScrubFindings findings = ended.get_future().get();
  scrubber.stop();

  EXPECT_TRUE(reclaimed);
  EXPECT_EQ(volume.chunks().size(), 3u);
  EXPECT_TRUE(findings.complete);
  EXPECT_EQ(findings.damaged_chunks, 0u);
  EXPECT_EQ(volume.volume().chunks().damage().damaged_chunks(), 0u);
}

}  // namespace
}  // namespace dedupfs
