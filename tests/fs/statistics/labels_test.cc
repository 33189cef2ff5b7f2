#include "fs/statistics/labels.h"

#include <gtest/gtest.h>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

struct LabelsTest : testing::Test {
  GroupTree groups;
  Label first = value_of(groups.add());
  Label second = value_of(groups.add());
  Label child = value_of(groups.add(first));
  Label other_child = value_of(groups.add(first));
};

TEST_F(LabelsTest, JoinedIsTheLeastGroupThatContainsBoth) {
  EXPECT_EQ(groups.join(kNeededByNobody, child), child);
  EXPECT_EQ(groups.join(child, kNeededByNobody), child);
  EXPECT_EQ(groups.join(child, child), child);
  EXPECT_EQ(groups.join(child, other_child), first);
  EXPECT_EQ(groups.join(child, first), first);
  EXPECT_EQ(groups.join(first, second), kOthers);
  EXPECT_EQ(groups.join(child, second), kOthers);
  EXPECT_EQ(groups.join(second, kOthers), kOthers);
}

TEST_F(LabelsTest, AGroupHasWhatGroupsInItHave) {
  EXPECT_TRUE(groups.is_in(child, first));
  EXPECT_TRUE(groups.is_in(first, first));
  EXPECT_FALSE(groups.is_in(first, child));
  EXPECT_FALSE(groups.is_in(child, other_child));
  EXPECT_FALSE(groups.is_in(child, second));
  EXPECT_FALSE(groups.is_in(kOthers, first));
  EXPECT_FALSE(groups.is_in(kNeededByNobody, first));
}

TEST_F(LabelsTest, LabelsOfAMapAreJoined) {
  LabelMap map(groups, 1 << 20);
  for (const std::uint64_t number : {7u, 1'000'000u}) {
    EXPECT_EQ(map.get(number), kNeededByNobody);
    EXPECT_TRUE(map.join(number, other_child));
    EXPECT_EQ(map.get(number), other_child);
    EXPECT_FALSE(map.join(number, other_child));
    EXPECT_TRUE(map.join(number, child));
    EXPECT_EQ(map.get(number), first);
    EXPECT_FALSE(map.join(number, child));
    EXPECT_TRUE(map.join(number, second));
    EXPECT_EQ(map.get(number), kOthers);
    EXPECT_FALSE(map.join(number, first));
  }
  EXPECT_EQ(map.get(8), kNeededByNobody);
  EXPECT_TRUE(ok(map.require_complete()));
}

TEST_F(LabelsTest, AMapWithoutRoomSaysSo) {
  LabelMap map(groups, 64 << 10);

  for (std::uint64_t number = 0; number < 100; ++number) map.join(number << 40, child);

  EXPECT_TRUE(fails_with(ErrorCode::kNoMemory, map.require_complete()));
}

TEST(GroupTree, IsBounded) {
  GroupTree groups;
  for (std::size_t i = 0; i < GroupTree::kMaxGroups; ++i) ASSERT_TRUE(ok(groups.add()));

  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, groups.add()));
}

}  // namespace
}  // namespace dedupfs
