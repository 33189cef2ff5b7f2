#include "fs/check/reference_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fs/recipe_entries.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Chunks 1 to 3 of 10 bytes each.
struct ReferenceCheck : testing::Test {
  ChunkTable chunks;
  std::vector<std::string> lines;
  CheckReport report{[this](const std::string& line) { lines.push_back(line); }};

  ReferenceCheck() {
    ChunkExtent extent;
    extent.first = ChunkId{1};
    extent.chunks.resize(3, {.raw_length = 10, .delta_length = 0, .sources = {}});
    EXPECT_TRUE(chunks.add(extent));
  }
  void check(const RecipeEntry& entry) { check_reference(7, 100, entry, chunks, report); }
};

TEST_F(ReferenceCheck, AChunkThatIsThereIsNoFinding) {
  check(chunk(1));
  check(chunk(3));

  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(ReferenceCheck, AMissingChunkIsALoss) {
  check(chunk(4));

  EXPECT_THAT(lines, ElementsAre("lost: inode 7 at 100, 10 bytes: chunk 4 is missing"));
  EXPECT_EQ(report.errors(), 0u) << "no repair brings it back";
  ASSERT_EQ(report.lost().at(7).size(), 1u);
  EXPECT_EQ(report.lost().at(7)[0].length, 10u);
}

TEST_F(ReferenceCheck, WhatARepairGaveUpIsALoss) {
  check(chunk(0));

  EXPECT_THAT(lines, ElementsAre(HasSubstr("a repair could not bring it back")));
}

// The recipe is wrong: every later byte of the file would be elsewhere.
TEST_F(ReferenceCheck, AChunkOfAnotherLengthIsAnError) {
  check(chunk(2, 11));

  EXPECT_THAT(lines, ElementsAre("error: inode 7 at 100: chunk 2 has 10 bytes, not 11"));
  EXPECT_TRUE(report.lost().empty());
}

TEST_F(ReferenceCheck, AnUnreadableChunkIsALossWithItsReason) {
  chunks.mark_unreadable(ChunkId{1}, "container 5 is gone");
  chunks.mark_unreadable(ChunkId{2});
  check(chunk(1));
  check(chunk(2));
  check(chunk(3));

  EXPECT_THAT(lines, ElementsAre(HasSubstr("container 5 is gone"), HasSubstr("chunk 2 is a delta of a lost chunk")));
}

TEST_F(ReferenceCheck, TheLengthIsLookedAtBeforeWhetherItCanBeRead) {
  chunks.mark_unreadable(ChunkId{1}, "damaged");
  check(chunk(1, 11));

  EXPECT_EQ(report.errors(), 1u);
  EXPECT_TRUE(report.lost().empty());
}

}  // namespace
}  // namespace dedupfs
