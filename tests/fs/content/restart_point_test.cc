#include "fs/content/restart_point.h"

#include <gtest/gtest.h>

#include <random>

#include "content_of_file.h"

namespace dedupfs {
namespace {

class RestartPointTest : public FileContentTest {
 protected:
  static constexpr InodeNumber kMade = kInode + 1;

  std::uint64_t restart_at(InodeNumber inode, std::uint64_t offset) {
    const ContentLock lock;
    ContentLock::Held held = lock.hold();
    CountedRecipe recipe(*volume_, inode, kMaxFileBytes, 0);
    const DirtyLayer dirty(budget_);
    ContentView view(volume_->chunks(), inode, recipe, dirty, recipe.end().value());
    const auto point = restart_point(held, recipe, view, offset);
    EXPECT_TRUE(point) << point.error().message();
    return point.value_or(UINT64_MAX);
  }
  // The one entry of a file that has this content.
  RecipeEntry entry_of(InodeNumber inode, const ByteBuffer& bytes) {
    const auto content = make(inode);
    EXPECT_TRUE(write(*content, 0, bytes));
    EXPECT_TRUE(content->flush());
    const auto entries = recipe_of(inode);
    EXPECT_EQ(entries.size(), 1U);
    return entries.at(0);
  }
  void make_of(const std::vector<RecipeEntry>& entries) {
    Recipe recipe(volume_->metadata(), kMade);
    ASSERT_TRUE(recipe.replace(0, 0, entries));
  }

  std::mt19937_64 random_{1};
};

TEST_F(RestartPointTest, OfNothingIsItsBeginning) {
  EXPECT_EQ(restart_at(kInode, 0), 0U);
  EXPECT_EQ(restart_at(kInode, 5000), 0U);
}

TEST_F(RestartPointTest, IsWhereTheEntryOfTheFirstDirtyByteBegins) {
  ASSERT_TRUE(write(*content_, 0, noise_bytes(100'000, random_)));
  ASSERT_TRUE(content_->flush());
  const auto ends = boundaries_of(kInode);
  ASSERT_GT(ends.size(), 3U);

  EXPECT_EQ(restart_at(kInode, ends[1]), ends[1]);
  EXPECT_EQ(restart_at(kInode, ends[1] + 1), ends[1]);
  EXPECT_EQ(restart_at(kInode, ends[2] - 1), ends[1]);
  EXPECT_EQ(restart_at(kInode, ends[0] - 1), 0U);
}

TEST_F(RestartPointTest, WhatEndedOnlyBecauseTheFileDidIsCutAnew) {
  ASSERT_TRUE(write(*content_, 0, noise_bytes(100'000, random_)));
  ASSERT_TRUE(content_->flush());
  const auto ends = boundaries_of(kInode);
  const std::uint64_t last = ends.at(ends.size() - 2);

  EXPECT_EQ(restart_at(kInode, 100'000), last);
  EXPECT_EQ(restart_at(kInode, 1'000'000), last);
}

TEST_F(RestartPointTest, ZerosAtTheEndMayBelongToALongRun) {
  const RecipeEntry noise = entry_of(100, noise_bytes(1000, random_));
  const RecipeEntry zeros = entry_of(101, ByteBuffer(2000, 0));
  ASSERT_TRUE(zeros.kind == RecipeEntry::Kind::kChunk);
  make_of({noise, noise, zeros, zeros});

  EXPECT_EQ(restart_at(kMade, 6000), 1000U) << "what follows may make the run long enough for a hole";
  EXPECT_EQ(restart_at(kMade, 5999), 4000U) << "within the recipe the run is what it was";
}

TEST_F(RestartPointTest, TheEndOfALongHoleIsFedAsZeros) {
  constexpr std::uint64_t kHole = 100'000;
  WriteStream stream(*volume_, budget_, 0, kHole, [](const auto& /*ids*/) {});

  feed_hole(stream, kHole);

  EXPECT_EQ(stream.end(), kHole);
  EXPECT_TRUE(stream.part_at(0).bytes.bytes.empty());
  EXPECT_EQ(stream.part_at(0).length, kHole - kHoleRunBytes);
  const WriteStream::Part end = stream.part_at(kHole - kHoleRunBytes);
  EXPECT_EQ(end.bytes.bytes.size(), kHoleRunBytes);
  EXPECT_TRUE(all_zero(end.bytes.bytes));
}

TEST_F(RestartPointTest, AShortHoleIsFedAsAHole) {
  WriteStream stream(*volume_, budget_, 0, kMinHole, [](const auto& /*ids*/) {});

  feed_hole(stream, kMinHole);

  EXPECT_EQ(stream.end(), kMinHole);
  EXPECT_TRUE(stream.part_at(0).bytes.bytes.empty());
}

}  // namespace
}  // namespace dedupfs
