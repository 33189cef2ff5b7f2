#include "store/chunks/damage_record.h"

#include <gtest/gtest.h>

#include "sample_region.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

class DamageRecordTest : public testing::Test {
 protected:
  DamageRecordTest() {
    EXPECT_TRUE(Database::create(folder_at(folder_.path() / "index")));
    database_ = std::move(*Database::open(folder_at(folder_.path() / "index"), {.memory_bytes = 16 << 20}));
  }

  void write_batch() {
    Database::Batch batch(*database_);
    ASSERT_TRUE(record_.append_to(batch));
    ASSERT_TRUE(database_->write(batch));
  }
  // What the next mount knows.
  bool is_remembered(ChunkId id) {
    DamagedChunks damaged;
    DamageRecord record(damaged, pending_);
    EXPECT_TRUE(record.load(*database_));
    return damaged.contains(id);
  }
  // A chunk whose content came again, in the frozen group.
  void heal(std::uint64_t id) {
    auto region = std::make_shared<PendingRegion>();
    region->range = RegionRange{{1, 64}, 1000};
    region->renewed = {{.first = ChunkId{id}, .place = region->range->place, .chunks = {{.raw_length = 1000}}}};
    pending_.add_region(region);
    pending_.freeze();
  }

  TempDir folder_;
  std::unique_ptr<Database> database_;
  PendingChunks pending_;
  DamagedChunks damaged_;
  DamageRecord record_{damaged_, pending_};
};

TEST_F(DamageRecordTest, DamageIsRememberedOverMounts) {
  record_.note(ChunkId{7});
  EXPECT_EQ(record_.damaged_chunks(), 1U);
  EXPECT_FALSE(is_remembered(ChunkId{7}));
  write_batch();
  record_.committed();
  EXPECT_TRUE(is_remembered(ChunkId{7}));
}

TEST_F(DamageRecordTest, WithoutNewsNothingIsWritten) {
  Database::Batch batch(*database_);
  ASSERT_TRUE(batch.empty());
  ASSERT_TRUE(record_.append_to(batch));
  EXPECT_TRUE(batch.empty());
}

TEST_F(DamageRecordTest, AHealedChunkIsDamagedUntilTheCommitHasSucceeded) {
  record_.note(ChunkId{7});
  heal(7);
  write_batch();
  EXPECT_EQ(record_.damaged_chunks(), 1U);
  EXPECT_EQ(record_.healed_chunks(), 0U);
  record_.committed();
  EXPECT_EQ(record_.damaged_chunks(), 0U);
  EXPECT_EQ(record_.healed_chunks(), 1U);
  EXPECT_FALSE(is_remembered(ChunkId{7}));
}

TEST_F(DamageRecordTest, WhatAFailedCommitWouldHaveHealedIsTriedAgain) {
  record_.note(ChunkId{7});
  heal(7);
  {
    Database::Batch batch(*database_);
    ASSERT_TRUE(record_.append_to(batch));
    record_.failed(CommitFailure::kMayBeRetried);
  }
  EXPECT_EQ(record_.damaged_chunks(), 1U);
  write_batch();
  record_.committed();
  EXPECT_EQ(record_.healed_chunks(), 1U);
}

TEST_F(DamageRecordTest, WhatIsErasedIsDamagedNoMore) {
  record_.note(ChunkId{7});
  pending_.erase({.first = ChunkId{7}, .fingerprints = {Fingerprint()}});
  pending_.freeze();
  write_batch();
  record_.committed();
  EXPECT_EQ(record_.damaged_chunks(), 0U);
}

TEST_F(DamageRecordTest, AListThatIsNoListIsDamage) {
  Database::Batch batch(*database_);
  batch.put(Family::kCounters, kDamagedChunksCounter, "\xff\xff\xff");
  ASSERT_TRUE(database_->write(batch));
  EXPECT_EQ(record_.load(*database_).error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace dedupfs
