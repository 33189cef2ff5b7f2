#include "fs/background/stored_references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fs/hand_made_content.h"
#include "fs/test_metadata.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class StoredReferencesTest : public testing::Test {
 protected:
  void put(Family family, const std::string& key, const std::string& value) {
    Database::Batch batch(metadata_.database());
    batch.put(family, key, value);
    ASSERT_TRUE(metadata_.database().write(batch));
  }
  // The ids that are visited, in order.
  Result<std::vector<std::uint64_t>> visited() {
    const auto numbers = InodeNumbers::load(*metadata_).value();
    const StoredReferences references(metadata_.database(), *numbers);
    std::vector<std::uint64_t> ids;
    DEDUPFS_TRY(references.visit(*metadata_.database().snapshot(), [&](ChunkId id, double progress) -> Result<void> {
      EXPECT_GT(progress, 0);
      EXPECT_LT(progress, 1);
      ids.push_back(number_of(id));
      return {};
    }));
    return ids;
  }
  std::vector<std::uint64_t> newest(std::size_t enough) {
    const auto numbers = InodeNumbers::load(*metadata_).value();
    const StoredReferences references(metadata_.database(), *numbers);
    std::vector<std::uint64_t> ids;
    EXPECT_TRUE(references.visit_newest(
        [&](ChunkId id) {
          ids.push_back(number_of(id));
          return ids.size() < enough;
        },
        [] { return Result<void>(); }));
    return ids;
  }

  TestMetadata metadata_;
  HandMadeContent content_{metadata_.database()};
};

TEST_F(StoredReferencesTest, AVolumeWithoutFilesHasNone) {
  EXPECT_THAT(visited().value(), IsEmpty());
  EXPECT_THAT(newest(100), IsEmpty());
}

TEST_F(StoredReferencesTest, AreThoseOfAllFiles) {
  content_.let_be(2, {11, 12, 11});
  content_.let_be(900, {13});

  EXPECT_THAT(visited().value(), UnorderedElementsAre(11, 12, 11, 13));
}

TEST_F(StoredReferencesTest, AreThoseOfFilesAsSnapshotsHaveThem) {
  const RecipeEntry entry{.kind = RecipeEntry::Kind::kChunk, .length = 4096, .chunk = ChunkId{14}, .bytes = {}};
  content_.let_be(2, {11});
  put(Family::kBeforeImages, encode_before_image_key(Family::kRecipes, encode_recipe_key(2, 0), 1),
      encode_before_image(encode_segment({entry})));
  put(Family::kBeforeImages, encode_before_image_key(Family::kRecipes, encode_recipe_key(3, 0), 1),
      encode_before_image(std::nullopt));
  put(Family::kBeforeImages, encode_before_image_key(Family::kXattrs, encode_xattr_key(2, "user.a"), 1),
      encode_before_image("nonsense"));

  EXPECT_THAT(visited().value(), UnorderedElementsAre(11, 14));
}

TEST_F(StoredReferencesTest, WhatDoesNotParseMayReferToAnything) {
  content_.let_be(2, {11});
  put(Family::kRecipes, encode_recipe_key(3, 0), "nonsense");

  const auto damaged = visited();

  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code(), ErrorCode::kCorruption);
}

TEST_F(StoredReferencesTest, OfTheNewestFilesComeFirstUntilThereAreEnough) {
  content_.let_be(2, {11, 12});
  content_.let_be(3, {13});
  content_.let_be(5, {15, 14});

  EXPECT_THAT(newest(100), ElementsAre(15, 14, 11, 12, 13)) << "small files that were made together stay together";
  EXPECT_THAT(newest(3), ElementsAre(15, 14, 11));
  EXPECT_THAT(newest(1), ElementsAre(15));
}

// Whoever stops a walk would wait for all files otherwise.
TEST_F(StoredReferencesTest, AWalkPastFilesWithoutChunksAsksWhetherToGoOn) {
  const RecipeEntry entry{.kind = RecipeEntry::Kind::kInline, .length = 1, .chunk = {}, .bytes = "a"};
  for (InodeNumber inode = 2; inode < 100; ++inode)
    put(Family::kRecipes, encode_recipe_key(inode, 0), encode_segment({entry}));
  const auto numbers = InodeNumbers::load(*metadata_).value();
  int questions = 0;

  const auto visited = StoredReferences(metadata_.database(), *numbers)
                           .visit_newest([](ChunkId) { return true; },
                                         [&]() -> Result<void> {
                                           if (++questions == 3) return Error{ErrorCode::kInterrupted, "stopped"};
                                           return {};
                                         });

  ASSERT_FALSE(visited);
  EXPECT_EQ(visited.error().code(), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace dedupfs
