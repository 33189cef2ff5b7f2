#include "fs/content/counted_recipe.h"

#include <gtest/gtest.h>

#include <string>

#include "content_of_file.h"
#include "store/chunks/dropped_bytes.h"

namespace dedupfs {
namespace {

RecipeEntry counted_chunk(std::uint64_t length, std::uint64_t id) {
  return {.kind = RecipeEntry::Kind::kChunk, .length = length, .chunk = ChunkId{id}, .bytes = {}};
}
RecipeEntry uncounted_hole(std::uint64_t length) {
  return {.kind = RecipeEntry::Kind::kHole, .length = length, .chunk = {}, .bytes = {}};
}

class CountedRecipeTest : public FileContentTest {
 protected:
  std::uint64_t dropped_bytes() { return volume_->chunks().dropped().count(); }

  CountedRecipe recipe_{*volume_, kInode + 1, /*size=*/0, /*data_bytes=*/0};
};

TEST_F(CountedRecipeTest, CountsWhatIsNoHole) {
  ASSERT_TRUE(recipe_.replace(0, 0, {counted_chunk(3000, 1), uncounted_hole(9000), counted_chunk(2000, 2)}));
  EXPECT_EQ(recipe_.data_bytes(), 5000U);
  ASSERT_TRUE(recipe_.replace(3000, 12000, {counted_chunk(9000, 3)}));
  EXPECT_EQ(recipe_.data_bytes(), 14000U);
  ASSERT_TRUE(recipe_.replace(0, 3000, {uncounted_hole(3000)}));
  EXPECT_EQ(recipe_.data_bytes(), 11000U);
  ASSERT_TRUE(recipe_.replace(12000, kEndOfRecipe, {}));
  EXPECT_EQ(recipe_.data_bytes(), 9000U);
  EXPECT_EQ(recipe_.end().value(), 12000U);
  ASSERT_TRUE(recipe_.replace(
      0, kEndOfRecipe, {{.kind = RecipeEntry::Kind::kInline, .length = 4, .chunk = {}, .bytes = std::string("tiny")}}));
  EXPECT_EQ(recipe_.data_bytes(), 4U);
}

TEST_F(CountedRecipeTest, TheChunkStoreIsToldWhatTheFileDrops) {
  const std::uint64_t before = dropped_bytes();
  ASSERT_TRUE(recipe_.replace(0, 0, {counted_chunk(3000, 1), uncounted_hole(9000), counted_chunk(2000, 2)}));
  EXPECT_EQ(dropped_bytes(), before);

  ASSERT_TRUE(recipe_.replace(0, 3000, {counted_chunk(1000, 3), counted_chunk(2000, 4)}));
  EXPECT_EQ(dropped_bytes(), before + 3000);
  ASSERT_TRUE(recipe_.replace(3000, kEndOfRecipe, {}));
  EXPECT_EQ(dropped_bytes(), before + 5000) << "nobody stored the hole";
}

TEST_F(CountedRecipeTest, BoundariesAreWhereEntriesBeginAndFromTheEndOn) {
  EXPECT_TRUE(recipe_.is_boundary(0).value());
  EXPECT_TRUE(recipe_.is_boundary(1).value());
  ASSERT_TRUE(recipe_.replace(0, 0, {counted_chunk(3000, 1), counted_chunk(2000, 2)}));

  for (const std::uint64_t offset : {0U, 3000U, 5000U, 5001U})
    EXPECT_TRUE(recipe_.is_boundary(offset).value()) << offset;
  for (const std::uint64_t offset : {1U, 2999U, 3001U, 4999U})
    EXPECT_FALSE(recipe_.is_boundary(offset).value()) << offset;
}

TEST_F(CountedRecipeTest, ACountThatWasWrongBecomesOneThatARecordMayHave) {
  ASSERT_TRUE(recipe_.replace(0, 0, {counted_chunk(3000, 1), counted_chunk(2000, 2)}));
  CountedRecipe too_few(*volume_, kInode + 1, 5000, 10);
  ASSERT_TRUE(too_few.replace(3000, kEndOfRecipe, {}));
  EXPECT_EQ(too_few.data_bytes(), 0U);

  CountedRecipe too_many(*volume_, kInode + 1, 3000, kMaxFileBytes - 1);
  ASSERT_TRUE(too_many.replace(3000, kEndOfRecipe, {counted_chunk(2000, 2)}));
  EXPECT_EQ(too_many.data_bytes(), kMaxFileBytes);
}

}  // namespace
}  // namespace dedupfs
