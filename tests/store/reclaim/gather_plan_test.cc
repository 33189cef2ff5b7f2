// Which chunks settling gathers, and that it moves them without a change of any byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "reclaimed_volume.h"
#include "store/chunks/dropped_bytes.h"
#include "store/chunks/extent_finder.h"
#include "store/relocation/restore_estimate.h"

namespace dedupfs {
namespace {

constexpr std::size_t kFullContainers = 4;
constexpr std::size_t kInEach = 100;

// The newest file takes a chunk of each container in turn.
void scatter(ReclaimedVolume& volume, std::size_t in_each = kInEach) {
  std::vector<std::vector<ChunkId>> ids;
  for (std::size_t i = 0; i < kFullContainers; ++i) {
    ids.push_back(volume.keep(chunks(i * in_each, (i + 1) * in_each)));
    volume.begin_container();
  }
  for (std::size_t at = 0; at < in_each; ++at)
    for (const auto& of_container : ids) volume.newest.push_back(of_container[at]);
}

Result<ReclaimFindings> settle(ReclaimedVolume& volume) {
  volume.settings.goal = ReclaimGoal::kSettle;
  return volume.reclaim();
}

// The settling ends when it reports for the `count`-th time after something has moved.
Result<ReclaimFindings> settle_and_stop(ReclaimedVolume& volume, int count) {
  volume.progress = [&volume, count](ReclaimPhase) mutable {
    if (volume.volume().chunks().moved_disk_bytes() == 0) return Result<void>();
    return --count == 0 ? stopped() : Result<void>();
  };
  return settle(volume);
}

// Of a reader of the newest file.
std::uint64_t jumps(ReclaimedVolume& volume) {
  RestoreEstimate estimate;
  ExtentFinder extents(volume.volume().database());
  for (const ChunkId reference : volume.newest) {
    for (std::vector<ChunkId> wanted{reference}; !wanted.empty();) {
      const ChunkId id = wanted.back();
      wanted.pop_back();
      const ChunkExtent* const extent = extents.find(id).value();
      const DeltaSources sources = extent->at(id).sources;
      if (estimate.read(*extent, id)) wanted.insert(wanted.end(), sources.rbegin(), sources.rend());
    }
  }
  return estimate.jumps();
}

class GatheringTest : public testing::Test {
 protected:
  ReclaimedVolume volume_{"none", "zstd:9"};
};

TEST_F(GatheringTest, BringsTogetherWhatTheNewestFileNeedsAndChangesNoByte) {
  scatter(volume_);
  const std::uint64_t before = volume_.container_bytes();
  ASSERT_GE(jumps(volume_), 16u);

  const auto findings = settle(volume_);

  ASSERT_TRUE(findings) << findings.error().message();
  EXPECT_EQ(jumps(volume_), 1u) << "to the first region";
  EXPECT_EQ(findings->emptied_containers, kFullContainers);
  EXPECT_LT(volume_.container_bytes(), before + before / 50);
  EXPECT_TRUE(volume_.check().empty());
  volume_.expect_kept_for_good();
  EXPECT_EQ(jumps(volume_), 1u);
}

TEST_F(GatheringTest, WritesNothingTheSecondTimeAlsoAfterAMount) {
  scatter(volume_);
  ASSERT_TRUE(settle(volume_));
  volume_.expect_kept_for_good();

  const auto again = settle(volume_);

  ASSERT_TRUE(again);
  EXPECT_EQ(again->stored_bytes, 0u);
  EXPECT_EQ(again->emptied_containers, 0u);
}

TEST_F(GatheringTest, TakesNoMoreThanItsShareOfWhatWasStoredSinceTheLastTime) {
  scatter(volume_);
  ASSERT_TRUE(settle(volume_));
  std::ranges::shuffle(volume_.newest, std::minstd_rand(1));  // slow again, and nothing is new
  const auto nothing_new = settle(volume_);
  ASSERT_TRUE(nothing_new);
  EXPECT_EQ(nothing_new->stored_bytes, 0u);

  scatter(volume_);
  volume_.gather_percent = 10;
  const std::uint64_t new_bytes = kFullContainers * kInEach * kChunkBytes;
  const auto a_tenth = settle(volume_);

  ASSERT_TRUE(a_tenth);
  EXPECT_LE(a_tenth->stored_bytes, 2 * new_bytes / 10 + new_bytes / 50);
  volume_.expect_kept_for_good();
}

// What a reclaim costs in any case: the commits of one with nothing to empty.
TEST_F(GatheringTest, WhereNothingIsNewItCostsNoCommitAndNoWalkOverTheIndex) {
  scatter(volume_);
  ASSERT_TRUE(settle(volume_));
  ASSERT_TRUE(settle(volume_));
  const auto cost = [this] {
    const std::uint32_t first = volume_.volume().containers().begin_new_container();
    int reports = 0;
    volume_.progress = [&](ReclaimPhase phase) {
      reports += phase == ReclaimPhase::kCopyForward ? 1 : 0;
      return Result<void>();
    };
    EXPECT_TRUE(settle(volume_));
    EXPECT_EQ(volume_.volume().containers().begin_new_container(), first);
    return reports;
  };
  const int with = cost();
  volume_.gather_percent = 0;

  EXPECT_EQ(with, cost());
}

TEST_F(GatheringTest, ItCanBeSwitchedOff) {
  scatter(volume_);
  const std::uint64_t before = jumps(volume_);
  volume_.gather_percent = 0;

  const auto findings = settle(volume_);

  ASSERT_TRUE(findings);
  EXPECT_EQ(findings->stored_bytes, 0u);
  EXPECT_EQ(jumps(volume_), before);
}

TEST_F(GatheringTest, AFileThatLiesTogetherStaysWhereItIs) {
  volume_.threads = 1;
  volume_.reopen();
  volume_.newest = volume_.keep(chunks(0, 400));
  ASSERT_TRUE(volume_.commit());
  ASSERT_EQ(jumps(volume_), 1u);

  const auto findings = settle(volume_);

  ASSERT_TRUE(findings);
  EXPECT_EQ(findings->stored_bytes, 0u);
}

TEST_F(GatheringTest, WithoutRoomNothingMovesAndNothingIsLost) {
  scatter(volume_);
  volume_.available_bytes = 0;

  const auto findings = settle(volume_);

  ASSERT_TRUE(findings);
  EXPECT_EQ(findings->stored_bytes, 0u);
  volume_.expect_kept_for_good();
  volume_.available_bytes = std::uint64_t{1} << 40;
  ASSERT_TRUE(settle(volume_));
  EXPECT_LE(jumps(volume_), 6u) << "it was not taken for gathered";
}

TEST_F(GatheringTest, OneThatIsStoppedWhileItMovesCountsItsGarbageAndTakesItFromItsShare) {
  constexpr std::uint64_t kBatch = 32 << 20;  // between two reports
  constexpr std::size_t kInEachOfLarge = 600;
  scatter(volume_, kInEachOfLarge);

  ASSERT_FALSE(settle_and_stop(volume_, 1));

  const std::uint64_t garbage = volume_.volume().chunks().dropped().count();
  EXPECT_NEAR(static_cast<double>(garbage), static_cast<double>(kBatch), kBatch / 50);
  volume_.gather_percent = 60;  // less than has moved
  const auto again = settle(volume_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->stored_bytes, 0u);
  volume_.gather_percent = 100;
  ASSERT_TRUE(settle(volume_));
  EXPECT_TRUE(volume_.check().empty());
  volume_.expect_kept_for_good();
}

TEST_F(GatheringTest, OneThatIsStoppedWhileItEmptiesContainersCountsTheGarbageOfTheOthers) {
  scatter(volume_);
  const std::uint64_t before = volume_.container_bytes();

  ASSERT_FALSE(settle_and_stop(volume_, 2));

  const double in_a_container = kInEach * kChunkBytes;
  const auto garbage = static_cast<double>(volume_.volume().chunks().dropped().count());
  EXPECT_NEAR(garbage, (kFullContainers - 1) * in_a_container, in_a_container / 10);
  const auto again = settle(volume_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->stored_bytes, 0u);
  volume_.settings.goal = ReclaimGoal::kFreeSpace;
  ASSERT_TRUE(volume_.reclaim());
  EXPECT_EQ(volume_.volume().chunks().dropped().count(), 0u);
  EXPECT_LT(volume_.container_bytes(), before + before / 50);
  volume_.expect_kept_for_good();
}

TEST_F(GatheringTest, AfterACrashAtAnyCommitNothingIsLostAndItIsFinished) {
  scatter(volume_);
  ASSERT_TRUE(volume_.commit());
  const TempDir copies;
  std::vector<Path> crashed;
  volume_.committed = [&] {
    crashed.push_back(copies.path() / std::to_string(crashed.size()));
    crash_copy(volume_.path(), crashed.back());
  };
  ASSERT_TRUE(settle(volume_));
  volume_.committed = nullptr;
  ASSERT_GE(crashed.size(), 3u);

  for (const Path& path : crashed) {
    SCOPED_TRACE(path.filename().string());
    ReclaimedVolume after(path, volume_.kept());
    after.newest = volume_.newest;
    after.expect_kept();
    EXPECT_TRUE(after.check().empty());
    ASSERT_TRUE(settle(after));
    EXPECT_LE(jumps(after), 6u);
    after.expect_kept_for_good();
  }
}

TEST(GatheringDeltas, DeltasStayDeltasOfTheSameChunksAndLieBesideThem) {
  ReclaimedVolume volume("odess+:depth=4", "zstd:9");
  std::vector<ByteBuffer> generation = chunks(0, 200);
  std::minstd_rand random(1);
  for (int number = 0; number < 8; ++number) {
    volume.newest = volume.keep(generation);
    volume.begin_container();
    for (ByteBuffer& chunk : generation)
      if (random() % 3 == 0) chunk[random() % chunk.size()] ^= 1;
  }
  std::vector<DeltaSources> sources;
  for (const ChunkId id : volume.newest) sources.push_back(volume.sources_of(id));
  ASSERT_TRUE(std::ranges::any_of(sources, [](const DeltaSources& some) { return !some.empty(); }));
  const std::uint64_t before = jumps(volume);
  const std::uint64_t bytes_before = volume.container_bytes();

  const auto findings = settle(volume);

  ASSERT_TRUE(findings);
  EXPECT_LE(findings->garbage_bytes, volume.container_bytes()) << "also of containers that were written on the way";
  EXPECT_LT(jumps(volume), before);
  for (std::size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(volume.sources_of(volume.newest[i]), sources[i]);
  EXPECT_LT(volume.container_bytes(), bytes_before + bytes_before / 10);
  EXPECT_TRUE(volume.check().empty());
  volume.expect_kept_for_good();
}

}  // namespace
}  // namespace dedupfs
