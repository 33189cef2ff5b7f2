#include "fs/inodes/inode_table.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/mutex.h"
#include "fs/test_metadata.h"

namespace dedupfs {
namespace {

class InodeTableTest : public testing::Test {
 protected:
  TestMetadata metadata_;
};

TEST_F(InodeTableTest, LoadsAnInodeOnceAndKeepsIt) {
  metadata_.put_file(5);
  InodeTable table(*metadata_, 1000);

  const auto first = table.get(5);
  const auto second = table.get(5);

  ASSERT_TRUE(first);
  {
    const MutexLock lock((*first)->mutex);
    EXPECT_EQ((*first)->record.attributes.uid, 5U);
  }
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(table.cache_reading().misses, 1U);
  EXPECT_EQ(table.cache_reading().hits, 1U);
}

TEST_F(InodeTableTest, WhatDoesNotExistIsStaleUntilItExists) {
  InodeTable table(*metadata_, 1000);

  const auto missing = table.get(5);
  metadata_.put_file(5);

  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kStale);
  EXPECT_EQ(table.find_in_memory(5), nullptr);
  EXPECT_TRUE(table.get(5));
}

TEST_F(InodeTableTest, BeyondTheCapOnlyWhatIsNeededStays) {
  constexpr InodeNumber kInodes = 2000;
  for (InodeNumber number = 1; number <= kInodes; ++number) metadata_.put_file(number);
  InodeTable table(*metadata_, 128);
  const InodePtr in_use = *table.get(1);
  table.open(2);
  const Inode* open = table.get(2)->get();
  {
    const InodePtr changed = *table.get(3);
    const MutexLock lock(changed->mutex);
    table.mark_dirty(changed);
  }
  table.reference(4, 1);
  ASSERT_TRUE(table.get(4));

  for (InodeNumber number = 5; number <= kInodes; ++number) ASSERT_TRUE(table.get(number));

  EXPECT_EQ(table.find_in_memory(1), in_use);
  EXPECT_EQ(table.find_in_memory(2).get(), open);
  EXPECT_NE(table.find_in_memory(3), nullptr);
  EXPECT_EQ(table.find_in_memory(4), nullptr);  // referenced by the kernel: no object needed
  std::size_t in_memory = 0;
  for (InodeNumber number = 1; number <= kInodes; ++number) in_memory += table.find_in_memory(number) != nullptr;
  EXPECT_LE(in_memory, 200U);
}

TEST_F(InodeTableTest, TheLastHolderOfAnOrphanIsTold) {
  InodeTable table(*metadata_, 128);
  table.reference(5, 2);
  table.open(5);

  EXPECT_FALSE(table.mark_orphan(5));
  EXPECT_FALSE(table.forget(5, 1));
  EXPECT_FALSE(table.close(5));
  EXPECT_TRUE(table.reference_if_held(5));
  EXPECT_FALSE(table.forget(5, 1));
  EXPECT_TRUE(table.forget(5, 1));
  EXPECT_FALSE(table.reference_if_held(5));
}

TEST_F(InodeTableTest, AnOrphanWithoutHolderMayGoAtOnce) {
  InodeTable table(*metadata_, 128);

  EXPECT_TRUE(table.mark_orphan(5));
}

TEST_F(InodeTableTest, ForgettingWhatWasNeverReferencedDoesNoHarm) {
  InodeTable table(*metadata_, 128);
  table.reference(5, 1);

  EXPECT_FALSE(table.forget(6, 1));
  EXPECT_FALSE(table.forget(5, 1000));
}

TEST_F(InodeTableTest, ManyThreadsShareOneObjectOfANumber) {
  constexpr InodeNumber kInodes = 300;
  for (InodeNumber number = 1; number <= kInodes; ++number) metadata_.put_file(number);
  InodeTable table(*metadata_, 64);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (InodeNumber step = 0; step < 3000; ++step) {
        const auto inode = table.get(1 + step * 7 % kInodes);
        ASSERT_TRUE(inode);
        const MutexLock lock((*inode)->mutex);
        ASSERT_EQ((*inode)->record.attributes.uid, (*inode)->number);
        ASSERT_EQ(table.find_in_memory((*inode)->number), *inode);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace dedupfs
