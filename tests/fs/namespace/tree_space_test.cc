#include "fs/namespace/tree_space.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

constexpr SpaceReport kVolume{.total_bytes = 1 << 30, .available_bytes = 1 << 20, .inodes = 50};

TEST(TreeSpace, WithoutAQuotaItIsThatOfTheVolume) {
  const TreeSpace space = space_without_quota(kVolume);
  EXPECT_EQ(space.total_bytes, kVolume.total_bytes);
  EXPECT_EQ(space.free_bytes, kVolume.available_bytes);
  EXPECT_EQ(space.inodes, 50u);
}

TEST(TreeSpace, TheLimitIsTheSizeAndTheDiskBoundsWhatIsAvailable) {
  const TreeSpace space = space_in_quota(
      kVolume, {.limits = {.logical_bytes = 10 << 20, .files = 7}, .logical_bytes = 4 << 20, .files = 9});
  EXPECT_EQ(space.total_bytes, 10u << 20);
  EXPECT_EQ(space.free_bytes, 6u << 20);
  EXPECT_EQ(space.available_bytes, kVolume.available_bytes);
  EXPECT_EQ(space.inodes, 9u);
  EXPECT_EQ(space.free_inodes, 0u) << "the limit is lower than the use";
}

TEST(TreeSpace, OfTwoLimitsTheOneWithLessLeftCounts) {
  const TreeSpace space = space_in_quota(kVolume, {.limits = {.logical_bytes = 1000, .stored_bytes = 500},
                                                   .logical_bytes = 100,
                                                   .stored_bytes = 200,
                                                   .unmeasured_bytes = 250});
  EXPECT_EQ(space.total_bytes, 500u);
  EXPECT_EQ(space.free_bytes, 50u);
}

}  // namespace
}  // namespace dedupfs
