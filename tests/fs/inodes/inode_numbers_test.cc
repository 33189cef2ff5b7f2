#include "fs/inodes/inode_numbers.h"

#include <gtest/gtest.h>

#include "fs/test_metadata.h"

namespace dedupfs {
namespace {

TEST(InodeNumbers, AreNeverUsedTwiceEvenIfTheirGroupIsLost) {
  TestMetadata metadata;
  InodeNumber last = 0;
  {
    auto numbers = InodeNumbers::load(*metadata);
    ASSERT_TRUE(numbers);
    (*numbers)->save(false);
    metadata.commit();
    EXPECT_EQ((*numbers)->allocate(), kRootInode);
    for (int i = 0; i < 1000; ++i) last = (*numbers)->allocate();
  }

  metadata.crash();
  auto after_crash = InodeNumbers::load(*metadata);
  ASSERT_TRUE(after_crash);
  const InodeNumber next = (*after_crash)->allocate();
  EXPECT_GT(next, last);
  (*after_crash)->save(true);
  metadata.commit();

  auto after_close = InodeNumbers::load(*metadata);
  ASSERT_TRUE(after_close);
  EXPECT_EQ((*after_close)->allocate(), next + 1);
}

TEST(InodeNumbers, OfANewVolumeBeginWithTheRoot) {
  TestMetadata metadata;
  const auto numbers = InodeNumbers::load(*metadata).value();

  EXPECT_EQ(numbers->in_use(), 0U);
  EXPECT_EQ(numbers->end(), kRootInode);
  EXPECT_EQ(numbers->allocate(), kRootInode);
  EXPECT_EQ(numbers->end(), kRootInode + 1);
}

TEST(InodeNumbers, CountWhatIsInUse) {
  TestMetadata metadata;
  {
    const auto numbers = InodeNumbers::load(*metadata).value();
    for (int i = 0; i < 5; ++i) numbers->allocate();
    numbers->count_deleted();
    EXPECT_EQ(numbers->in_use(), 4U);
    numbers->set_in_use(1);
    numbers->count_deleted();
    numbers->count_deleted();
    EXPECT_EQ(numbers->in_use(), 0U) << "a count that was wrong stays at 0";
    numbers->allocate();
    numbers->save(true);
  }

  EXPECT_EQ(InodeNumbers::load(*metadata).value()->in_use(), 1U);
}

TEST(InodeNumbers, AreSavedOnlyWhereTheyChanged) {
  TestMetadata metadata;
  const auto numbers = InodeNumbers::load(*metadata).value();
  numbers->allocate();
  numbers->save(false);
  metadata.commit();

  numbers->save(false);

  EXPECT_TRUE(metadata->open_is_empty());
}

TEST(InodeNumbers, ACounterThatIsNotBehindAllInodesIsRaised) {
  TestMetadata metadata;
  metadata->put(Family::kCounters, kNextInodeCounter, encode_counter(5));
  metadata.put_file(4);
  EXPECT_EQ(InodeNumbers::load(*metadata).value()->end(), 5U);

  metadata->put(Family::kOrphans, encode_inode_key(9), "");

  EXPECT_EQ(InodeNumbers::load(*metadata).value()->allocate(), 10U);
}

TEST(InodeNumbers, WithoutNumbersLeftAreDamage) {
  TestMetadata metadata;
  const auto code_of_next = [&](std::uint64_t next) {
    metadata->put(Family::kCounters, kNextInodeCounter, encode_counter(next));
    const auto numbers = InodeNumbers::load(*metadata);
    return numbers ? std::optional<ErrorCode>() : numbers.error().code();
  };

  EXPECT_EQ(code_of_next(0), ErrorCode::kCorruption);
  EXPECT_EQ(code_of_next(kLastInode + 1), std::nullopt);
  EXPECT_EQ(code_of_next(kLastInode + 2), ErrorCode::kCorruption);
  metadata.put_file(kLastInode + 1);
  EXPECT_EQ(code_of_next(7), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace dedupfs
