#include "fs/inodes/orphan_reaper.h"

#include <gtest/gtest.h>

#include <string>

#include "fs/content/file_content.h"
#include "fs/format/recipe_format.h"
#include "fs/inodes/inode_record.h"
#include "fs/test_filesystem.h"
#include "inodes_of_volume.h"
#include "store/chunks/dropped_bytes.h"

namespace dedupfs {
namespace {

struct OrphanReaperTest : InodesOfVolume {};

TEST_F(OrphanReaperTest, DeletesAllThatAnOrphanHasAndNothingElse) {
  InodeRecord record = TestMetadata::file_record(5);
  record.attributes.data_bytes = 3000;
  record.has_xattrs = true;
  put_orphan(record);
  put_file(6);
  numbers_->set_in_use(2);
  for (const InodeNumber number : {5U, 6U}) {
    metadata_.put(Family::kXattrs, encode_xattr_key(number, "user.a"), "value");
    metadata_.put(Family::kRecipes, encode_recipe_key(number, 0), encode_segment({{.length = 5000, .bytes = {}}}));
  }
  ASSERT_TRUE(ok(reaper_.load()));
  const std::uint64_t dropped = volume_->chunks().dropped().count();

  EXPECT_FALSE(reaper_.step());

  EXPECT_EQ(count(Family::kOrphans), 0U);
  for (const Family family : {Family::kInodes, Family::kXattrs, Family::kRecipes}) EXPECT_EQ(count(family), 1U);
  EXPECT_EQ(record_of(6), TestMetadata::file_record(6));
  EXPECT_EQ(numbers_->in_use(), 1U);
  EXPECT_EQ(volume_->chunks().dropped().count(), dropped + 3000);
  EXPECT_TRUE(fails_with(ErrorCode::kStale, table_.get(5)));
}

TEST_F(OrphanReaperTest, ALargeOneGoesInSteps) {
  constexpr std::size_t kXattrs = 150;
  InodeRecord record = TestMetadata::file_record(5);
  record.has_xattrs = true;
  put_orphan(record);
  for (std::size_t i = 0; i < kXattrs; ++i)
    metadata_.put(Family::kXattrs, encode_xattr_key(5, "user." + std::to_string(i)), "value");
  ASSERT_TRUE(ok(reaper_.load()));

  EXPECT_TRUE(reaper_.step());

  EXPECT_EQ(reaper_.pushed(), 1U);
  EXPECT_FALSE(reaper_.are_gone(1));
  EXPECT_LT(count(Family::kXattrs), kXattrs);
  EXPECT_EQ(count(Family::kOrphans), 1U) << "after a crash the next mount finds it";
  std::size_t steps = 1;
  while (reaper_.step()) ASSERT_LT(++steps, kXattrs);
  EXPECT_TRUE(reaper_.are_gone(1));
  EXPECT_EQ(count(Family::kXattrs), 0U);
  EXPECT_EQ(count(Family::kInodes), 0U);
}

TEST_F(OrphanReaperTest, ALargeOneThatLeavesTheMemoryBetweenStepsLeavesNoCharge) {
  constexpr std::uint64_t kSegments = 65;  // one more than a step erases
  InodeTable small_table(metadata_, 64, &quotas_);
  OrphanReaper reaper(metadata_, volume_->chunks(), small_table, *numbers_, quotas_, transactions_);
  const QuotaAccountPtr account = quotas_.make(kRootInode, {.logical_bytes = 1 << 20}).value();
  quotas_.add(account);
  account->add_present_file();
  InodeRecord record = TestMetadata::file_record(5);
  record.quota = account->number();
  put_orphan(record);
  for (std::uint64_t i = 0; i < kSegments; ++i)
    metadata_.put(Family::kRecipes, encode_recipe_key(5, i * 10), encode_segment({{.length = 10, .bytes = {}}}));
  ASSERT_TRUE(ok(reaper.load()));
  {
    const InodePtr inode = small_table.get(5).value();
    const MutexLock lock(inode->mutex);
    inode->content = std::make_shared<FileContent>(*volume_, budget_, 5, 5000, 5000);  // not stored yet
    settle_charge(*inode);
    small_table.mark_dirty(inode);
  }
  ASSERT_EQ(account->status().logical_bytes, 5000U);

  EXPECT_TRUE(reaper.step());
  put_file(5 + 64);
  ASSERT_TRUE(ok(small_table.get(5 + 64)));
  ASSERT_EQ(small_table.find_in_memory(5), nullptr);
  while (reaper.step()) {
  }

  EXPECT_EQ(account->status().logical_bytes, 0U);
  EXPECT_EQ(account->status().files, 0U);
}

TEST_F(OrphanReaperTest, WhatCannotBeDeletedHoldsUpNobody) {
  put_file(5);
  metadata_.put(Family::kOrphans, encode_inode_key(5), "");
  put_orphan(TestMetadata::file_record(6));
  ASSERT_TRUE(ok(reaper_.load()));

  EXPECT_FALSE(reaper_.step());

  EXPECT_EQ(record_of(5).attributes.links, 1U) << "a file with a name is no orphan";
  EXPECT_TRUE(fails_with(ErrorCode::kStale, table_.get(6)));
  EXPECT_TRUE(reaper_.are_gone(2));
}

TEST_F(OrphanReaperTest, NumbersThatNoOrphanCanHaveAreLeftAlone) {
  metadata_.put(Family::kOrphans, encode_inode_key(kRootInode), "");
  metadata_.put(Family::kOrphans, encode_inode_key(kLastInode + 1), "");

  ASSERT_TRUE(ok(reaper_.load()));

  EXPECT_EQ(reaper_.pushed(), 0U);
  EXPECT_FALSE(reaper_.step());
}

TEST(OrphanReaper, WhatWasUnlinkedAndOpenIsDeletedAfterACrash) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a", random_text(100'000, 2));
  ASSERT_TRUE(ok(fs->set_xattr(file, "user.x", "y", Filesystem::XattrMode::kSet)));
  ASSERT_TRUE(ok(fs->open_file(file, false, {})));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "a")));
  ASSERT_TRUE(ok(fs->sync()));

  const auto crashed = fs.after_crash();

  EXPECT_TRUE(crashed->inodes_become(1));
  ASSERT_TRUE(ok((*crashed)->sync()));
  Metadata& metadata = (*crashed)->volume().metadata();
  for (const Family family : {Family::kRecipes, Family::kXattrs, Family::kOrphans})
    EXPECT_TRUE(value_of(metadata.list(family, {}, {}, 10)).empty()) << name_of(family);
}

TEST(OrphanReaper, DeletingAFreshFileStoresNothingOfIt) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a", random_text(20'000, 3));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "a")));
  fs->forget(file, 1);

  EXPECT_TRUE(fs.inodes_become(1));
  EXPECT_TRUE(ok(fs->sync()));
  EXPECT_EQ(fs->dirty_bytes(), 0U);
}

}  // namespace
}  // namespace dedupfs
