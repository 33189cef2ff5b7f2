#include "store/metadata/snapshot_reaper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "test_snapshots.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class SnapshotReaperTest : public SnapshotsTest {
 protected:
  // Inode 5 has the values one after the other. A snapshot is taken between each two. The last value is not committed.
  template <std::size_t kValues>
  std::array<TreeNumber, kValues - 1> take_between(const char* const (&values)[kValues]) {
    std::array<TreeNumber, kValues - 1> taken{};
    for (std::size_t i = 0; i < kValues; ++i) {
      if (i > 0) taken[i - 1] = take();
      metadata_->put(Family::kInodes, key_of(5), values[i]);
    }
    return taken;
  }
};

TEST_F(SnapshotReaperTest, NothingIsLeftOfTheLastSnapshot) {
  const auto [snapshot] = take_between({"old", "new"});
  commit();
  EXPECT_EQ(images(), 1U);
  remove(snapshot);
  sweep();
  EXPECT_EQ(images(), 0U);
  EXPECT_EQ(dropped_, std::vector<std::string>{"old"});
  EXPECT_TRUE(database_->list(Family::kSnapshots, {}, {}, 1)->empty());
}

TEST_F(SnapshotReaperTest, AnOlderSnapshotInheritsWhatItNeeds) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber older = take();
  const TreeNumber newer = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  commit();
  remove(newer);
  metadata_->put(Family::kInodes, key_of(5), "newest");  // beside the deletion, in its group
  sweep();
  EXPECT_EQ(get(older, Family::kInodes, key_of(5)), "old");
  EXPECT_TRUE(dropped_.empty());
  EXPECT_EQ(images(), 1U);
}

TEST_F(SnapshotReaperTest, WhatAnOlderSnapshotSawChangeGoes) {
  const auto [older, newer] = take_between({"first", "second", "third"});
  commit();
  remove(newer);
  sweep();
  EXPECT_EQ(get(older, Family::kInodes, key_of(5)), "first");
  EXPECT_EQ(dropped_, std::vector<std::string>{"second"});
}

// What is being committed was set aside for the newer snapshot before that was deleted.
TEST_F(SnapshotReaperTest, ImagesOfAGroupThatEndedBeforeTheDeletionAreSweptToo) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber older = take();
  const TreeNumber newer = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  metadata_->freeze();
  remove(newer);
  EXPECT_FALSE(reaper_->step().value());
  write_frozen();
  sweep();
  EXPECT_EQ(get(older, Family::kInodes, key_of(5)), "old");
  remove(older);
  sweep();
  EXPECT_EQ(images(), 0U);
}

TEST_F(SnapshotReaperTest, ADeletedSnapshotGoesThoughOthersAreDeletedMeanwhile) {
  const auto [older, newer] = take_between({"first", "second", "third"});
  remove(older);
  commit();
  (void)reaper_->step().value();
  remove(newer);
  commit();
  (void)reaper_->step().value();

  EXPECT_FALSE(snapshots_->knows(older));
  EXPECT_TRUE(snapshots_->knows(newer)) << "its image went in an open group";
  sweep();
  EXPECT_FALSE(snapshots_->knows(newer));
}

TEST_F(SnapshotReaperTest, WhatGoesIsToldOnce) {
  const auto [snapshot] = take_between({"old", "new"});
  commit();
  remove(snapshot);
  commit();
  for (int i = 0; i < 5; ++i) (void)reaper_->step().value();
  EXPECT_EQ(dropped_, std::vector<std::string>{"old"});
}

TEST_F(SnapshotReaperTest, WithoutDeletedSnapshotsThereIsNothingToDo) {
  const auto [snapshot] = take_between({"old", "new"});
  commit();

  EXPECT_TRUE(reaper_->is_done());
  EXPECT_FALSE(reaper_->step().value());

  EXPECT_TRUE(metadata_->open_is_empty());
  EXPECT_EQ(get(snapshot, Family::kInodes, key_of(5)), "old");
}

// A group that is not committed may still add images for it.
TEST_F(SnapshotReaperTest, NothingIsTakenApartBeforeTheDeletionIsCommitted) {
  const auto [snapshot] = take_between({"old", "new"});
  commit();
  remove(snapshot);

  EXPECT_FALSE(reaper_->step().value());

  EXPECT_FALSE(reaper_->is_done());
  EXPECT_TRUE(reaper_->awaits_commit());
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(SnapshotReaperTest, TheRecordGoesAfterTheImagesAreGoneForGood) {
  const auto [snapshot] = take_between({"old", "new"});
  commit();
  remove(snapshot);
  commit();

  (void)reaper_->step().value();
  EXPECT_TRUE(snapshots_->knows(snapshot));
  EXPECT_TRUE(reaper_->awaits_commit());
  EXPECT_FALSE(reaper_->step().value()) << "not before the commit";
  EXPECT_TRUE(snapshots_->knows(snapshot));
  commit();
  (void)reaper_->step().value();

  EXPECT_FALSE(snapshots_->knows(snapshot));
  EXPECT_TRUE(reaper_->is_done());
}

TEST_F(SnapshotReaperTest, AnyCrashLeavesWhatIsFoundAgain) {
  for (std::uint64_t inode = 1; inode <= 10; ++inode) metadata_->put(Family::kInodes, key_of(inode), "old");
  const TreeNumber older = take();
  const TreeNumber newer = take();
  for (std::uint64_t inode = 1; inode <= 10; ++inode) metadata_->put(Family::kInodes, key_of(inode), "new");
  commit();
  remove(newer);
  commit();

  (void)reaper_->step().value();
  restart();  // what the step did was not committed
  EXPECT_FALSE(reaper_->is_done());
  for (std::uint64_t inode = 1; inode <= 10; ++inode) EXPECT_EQ(get(older, Family::kInodes, key_of(inode)), "old");
  (void)reaper_->step().value();
  commit();
  restart();  // it was, but the record is there still
  EXPECT_FALSE(reaper_->is_done());
  sweep();

  EXPECT_EQ(images(), 10U);
  EXPECT_THAT(dropped_, IsEmpty());
  for (std::uint64_t inode = 1; inode <= 10; ++inode) EXPECT_EQ(get(older, Family::kInodes, key_of(inode)), "old");
}

TEST_F(SnapshotReaperTest, ManyImagesTakeManySteps) {
  constexpr std::uint64_t kInodes = 2500;
  for (std::uint64_t inode = 1; inode <= kInodes; ++inode) metadata_->put(Family::kInodes, key_of(inode), "old");
  const TreeNumber snapshot = take();
  for (std::uint64_t inode = 1; inode <= kInodes; ++inode) metadata_->put(Family::kInodes, key_of(inode), "new");
  commit();
  remove(snapshot);
  commit();

  EXPECT_TRUE(reaper_->step().value()) << "there is more to do at once";
  const std::size_t after_one_step = dropped_.size();
  sweep();

  EXPECT_GT(after_one_step, 100U);
  EXPECT_LT(after_one_step, kInodes / 2);
  EXPECT_EQ(dropped_.size(), kInodes);
  EXPECT_EQ(images(), 0U);
}

TEST_F(SnapshotReaperTest, AnOlderSnapshotDoesNotInheritInodesThatItNeverHad) {
  const TreeNumber older = take(100);
  metadata_->put(Family::kInodes, key_of(100), "later");
  const TreeNumber newer = take(200);
  metadata_->put(Family::kInodes, key_of(100), "last");
  commit();
  remove(newer);
  sweep();

  EXPECT_EQ(images(), 0U);
  EXPECT_THAT(dropped_, ElementsAre("later"));
  EXPECT_EQ(get(older, Family::kInodes, key_of(100)), std::nullopt);
}

TEST_F(SnapshotReaperTest, SeveralAreTakenApartTogether) {
  const auto taken = take_between({"one", "two", "three", "four", "live"});
  commit();
  remove(taken[1]);
  remove(taken[3]);
  sweep();

  EXPECT_THAT(dropped_, UnorderedElementsAre("two", "four"));
  EXPECT_EQ(get(taken[0], Family::kInodes, key_of(5)), "one");
  EXPECT_EQ(get(taken[2], Family::kInodes, key_of(5)), "three");
}

// Whoever repairs decides what becomes of it.
TEST_F(SnapshotReaperTest, WhatASnapshotWithADamagedRecordMayNeedStays) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber damaged = take();
  const TreeNumber newer = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  commit();
  Database::Batch batch(*database_);
  batch.put(Family::kSnapshots, encode_snapshot_key(damaged), "?");
  ASSERT_TRUE(database_->write(batch));
  restart();
  remove(newer);
  sweep();

  EXPECT_EQ(images(), 1U);
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(SnapshotReaperTest, ImagesThatDoNotParseAreLeftAlone) {
  const TreeNumber snapshot = take();
  Database::Batch batch(*database_);
  batch.put(Family::kBeforeImages, "?", "?");
  ASSERT_TRUE(database_->write(batch));
  remove(snapshot);
  sweep();

  EXPECT_EQ(images(), 1U);
}

}  // namespace
}  // namespace dedupfs
