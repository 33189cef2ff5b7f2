#include "fs/inodes/inode_changes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "fs/content/file_content.h"
#include "fs/faulty_filesystem.h"
#include "fs/test_filesystem.h"
#include "inodes_of_volume.h"

namespace dedupfs {
namespace {

class InodeChangesTest : public InodesOfVolume {
 protected:
  // A file with content that waits in memory.
  InodePtr make_changed(InodeNumber number, std::string_view text) {
    put_file(number);
    InodePtr inode = value_of(table_.get(number));
    const MutexLock lock(inode->mutex);
    inode->content = std::make_shared<FileContent>(*volume_, budget_, number, 0, 0);
    table_.mark_dirty(inode);
    EXPECT_TRUE(ok(budget_.acquire(text.size(), [] { return false; })));
    EXPECT_TRUE(ok(inode->content->write(0, bytes_of(text), DirtyBudget::Share::acquired(budget_, text.size()))));
    return inode;
  }
  bool recipes_become(std::size_t wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (count(Family::kRecipes) != wanted && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return count(Family::kRecipes) == wanted;
  }
};

TEST_F(InodeChangesTest, AtTheEndOfAGroupContentAndRecordsAreInTheMetadata) {
  make_changed(5, "content");
  EXPECT_TRUE(changes_.has_changes());
  EXPECT_GT(changes_.waiting_bytes(), 0U);

  changes_.store();
  EXPECT_EQ(record_of(5).attributes.size, 0U) << "records follow when no operation is half done";
  changes_.put_records();

  EXPECT_FALSE(changes_.store_error());
  EXPECT_FALSE(changes_.has_changes());
  EXPECT_EQ(changes_.waiting_bytes(), 0U);
  EXPECT_EQ(count(Family::kRecipes), 1U);
  EXPECT_EQ(record_of(5).attributes.size, 7U);
  EXPECT_EQ(record_of(5).attributes.data_bytes, 7U);
}

TEST_F(InodeChangesTest, ContentStaysInMemoryWhileTheFileIsOpen) {
  const InodePtr open = make_changed(5, "open");
  const InodePtr closed = make_changed(6, "closed");
  table_.open(5);

  changes_.store();
  changes_.put_records();

  {
    const MutexLock lock(open->mutex);
    EXPECT_NE(open->content, nullptr);
  }
  const MutexLock lock(closed->mutex);
  EXPECT_EQ(closed->content, nullptr);
}

TEST_F(InodeChangesTest, WhatNobodyWillReadAgainIsNotStored) {
  const InodePtr inode = make_changed(5, std::string(50'000, 'x'));
  inode->unlinked = true;

  changes_.store();

  EXPECT_FALSE(changes_.store_error());
  EXPECT_EQ(count(Family::kRecipes), 0U);
  EXPECT_EQ(changes_.waiting_bytes(), 0U);
}

// To wake a thread for each of them would cost more than to store it.
TEST_F(InodeChangesTest, SmallFilesAreStoredInTheBackgroundManyAtATime) {
  constexpr InodeNumber kAtOnce = 32;
  for (InodeNumber number = 5; number < 5 + kAtOnce - 1; ++number)
    changes_.store_in_background(make_changed(number, "small"));
  EXPECT_EQ(count(Family::kRecipes), 0U);

  changes_.store_in_background(make_changed(5 + kAtOnce - 1, "small"));

  EXPECT_TRUE(recipes_become(kAtOnce));
}

TEST_F(InodeChangesTest, WithoutTheShortcutEachIsStoredByItself) {
  InodeChanges changes(metadata_, table_, *numbers_, quotas_, budget_, writability_,
                       Shortcuts().without(Shortcut::kSmallFiles));

  changes.store_in_background(make_changed(5, "small"));

  EXPECT_TRUE(recipes_become(1));
}

TEST_F(InodeChangesTest, ALargeFileTakesTheSmallOnesWithIt) {
  changes_.store_in_background(make_changed(5, "small"));
  changes_.store_in_background(make_changed(6, random_text(100'000, 1)));

  EXPECT_TRUE(recipes_become(2));
}

TEST_F(InodeChangesTest, SmallFilesWaitForTheEndOfTheGroupAtMost) {
  changes_.store_in_background(make_changed(5, "small"));

  changes_.store();

  EXPECT_EQ(count(Family::kRecipes), 1U);
  EXPECT_EQ(changes_.waiting_bytes(), 0U);
}

TEST_F(InodeChangesTest, TheCountersAreThoseOfTheNumbers) {
  numbers_->allocate();

  changes_.put_counters(/*is_last=*/true);

  const auto next = value_of(metadata_.get(Family::kCounters, kNextInodeCounter));
  ASSERT_TRUE(next);
  EXPECT_EQ(value_of(decode_counter(kNextInodeCounter, *next)), numbers_->end());
}

TEST(InodeChanges, AfterAFullDiskTheNextSyncSucceeds) {
  FaultyFilesystem faulty;
  TestFilesystem& fs = faulty.fs;
  const std::string content = random_text(400'000, 7);
  faulty.fail("write", ErrorCode::kNoSpace);
  const InodeNumber file = fs.make_file(kRootInode, "f", content);

  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, fs->sync()));
  EXPECT_TRUE(ok(fs->create(kRootInode, "more", 0644, {})));
  EXPECT_EQ(fs.content(file), content);
  faulty.fail("write", std::nullopt);
  EXPECT_TRUE(ok(fs->sync()));

  EXPECT_EQ(fs.after_crash()->content(file), content);
}

}  // namespace
}  // namespace dedupfs
