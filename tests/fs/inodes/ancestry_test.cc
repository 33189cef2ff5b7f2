#include "fs/inodes/ancestry.h"

#include <gtest/gtest.h>

#include <map>

#include "test_filesystem.h"

namespace dedupfs {
namespace {

// Directories that exist only as a map from each to its parent.
class AncestryTest : public testing::Test {
 protected:
  Ancestry ancestry_{[this](InodeNumber directory) -> Result<InodeNumber> {
    ++reads_;
    const auto found = parents_.find(directory);
    if (found == parents_.end()) return Error{ErrorCode::kStale, "no such directory"};
    return found->second;
  }};

  // `length` directories, one in the other, from `first` on.
  void make_chain(InodeNumber first, std::size_t length) {
    parents_[first] = kRootInode;
    for (InodeNumber number = first + 1; number < first + length; ++number) parents_[number] = number - 1;
  }

  std::map<InodeNumber, InodeNumber> parents_;
  std::size_t reads_ = 0;
};

TEST_F(AncestryTest, ADirectoryIsInsideOfItselfAndOfAllAboveIt) {
  make_chain(10, 5);
  parents_[20] = 11;

  EXPECT_TRUE(value_of(ancestry_.is_inside(14, 14)));
  EXPECT_TRUE(value_of(ancestry_.is_inside(14, 10)));
  EXPECT_TRUE(value_of(ancestry_.is_inside(14, kRootInode)));
  EXPECT_FALSE(value_of(ancestry_.is_inside(10, 14)));
  EXPECT_FALSE(value_of(ancestry_.is_inside(14, 20)));
}

TEST_F(AncestryTest, ASecondWalkReadsNothing) {
  make_chain(2, 60'000);
  EXPECT_FALSE(value_of(ancestry_.is_inside(60'001, 99'999)));
  EXPECT_EQ(reads_, 60'000U);

  EXPECT_TRUE(value_of(ancestry_.is_inside(60'001, 2)));

  EXPECT_EQ(reads_, 60'000U);
}

TEST_F(AncestryTest, AMoveCountsAtOnce) {
  make_chain(10, 5);
  parents_[20] = kRootInode;
  EXPECT_TRUE(value_of(ancestry_.is_inside(14, 11)));

  parents_[12] = 20;
  ancestry_.note_move(12, 20);

  EXPECT_FALSE(value_of(ancestry_.is_inside(14, 11)));
  EXPECT_TRUE(value_of(ancestry_.is_inside(14, 20)));
}

TEST_F(AncestryTest, WhatIsForgottenIsReadAgain) {
  make_chain(10, 5);
  EXPECT_TRUE(value_of(ancestry_.is_inside(14, 10)));
  parents_[12] = kRootInode;

  ancestry_.forget_all();

  EXPECT_FALSE(value_of(ancestry_.is_inside(14, 10)));
}

TEST_F(AncestryTest, DirectoriesThatShareASlotDoNotDisturbEachOther) {
  constexpr InodeNumber kApart = 1 << 17;
  parents_ = {{10, kRootInode}, {10 + kApart, 10}, {10 + 2 * kApart, 10 + kApart}};

  EXPECT_TRUE(value_of(ancestry_.is_inside(10 + 2 * kApart, 10)));
  EXPECT_FALSE(value_of(ancestry_.is_inside(10, 10 + kApart)));
}

TEST_F(AncestryTest, DamagedParentsThatFormACircleEndTheWalk) {
  parents_ = {{10, 11}, {11, 12}, {12, 10}, {13, 12}};

  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, ancestry_.is_inside(13, 99)));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, ancestry_.is_inside(98, 99)));
}

TEST_F(AncestryTest, TheWalkHasAnEnd) {
  make_chain(10, Ancestry::kMaxSteps + 10);

  EXPECT_TRUE(fails_with(ErrorCode::kNameTooLong, ancestry_.is_inside(10 + Ancestry::kMaxSteps + 5, 5)));
  EXPECT_FALSE(value_of(ancestry_.is_inside(Ancestry::kMaxSteps, 5)));
}

}  // namespace
}  // namespace dedupfs
