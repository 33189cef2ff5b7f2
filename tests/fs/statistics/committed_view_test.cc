#include "fs/statistics/committed_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "fs/recipe_entries.h"
#include "fs/test_filesystem.h"
#include "hand_made_content.h"
#include "index/counters.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A new volume whose index is filled by hand. Chunks 1 to 99 were given away.
struct CommittedViewTest : testing::Test {
  TempDir directory;
  std::unique_ptr<Volume> volume;

  CommittedViewTest() {
    const Path path = directory.path() / "volume";
    value_of(Volume::create(path, TestFilesystem::settings()));
    volume = value_of(Volume::open(path, {.index_memory_bytes = 16 << 20, .threads = 1}));
    put(Family::kCounters, std::string(kNextChunkIdCounter), encode_number(100));
  }
  void put(Family family, const std::string& key, const std::string& value) {
    Database::Batch batch(volume->database());
    batch.put(family, key, value);
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }
  void put_inode(InodeNumber number) {
    InodeRecord record;
    record.attributes.inode = number;
    record.attributes.mode = S_IFREG | 0644;
    record.attributes.links = 1;
    put(Family::kInodes, encode_inode_key(number), encode_inode(record));
  }
  void put_orphan(InodeNumber number) { put(Family::kOrphans, encode_inode_key(number), ""); }
  void put_segment(InodeNumber file, std::uint64_t offset, std::uint64_t id) {
    put(Family::kRecipes, encode_recipe_key(file, offset), encode_segment({chunk(id)}));
  }
  void put_snapshot(TreeNumber number, std::uint64_t end_of_inodes, bool is_deleted = false) {
    put(Family::kSnapshots, encode_snapshot_key(number),
        encode_snapshot({.number = number,
                         .name = "s" + std::to_string(number),
                         .end_of_inodes = end_of_inodes,
                         .is_deleted = is_deleted}));
  }
  void put_image(TreeNumber number, InodeNumber file, std::uint64_t offset, std::optional<std::uint64_t> id) {
    put(Family::kBeforeImages, encode_before_image_key(Family::kRecipes, encode_recipe_key(file, offset), number),
        encode_before_image(id ? std::optional(encode_segment({chunk(*id)})) : std::nullopt));
  }
  CommittedView view() { return value_of(CommittedView::open(*volume)); }

  using Seen = std::vector<std::pair<InodeNumber, std::uint64_t>>;  // file and chunk, a segment each
  static auto note(Seen& seen) {
    return [&seen](InodeNumber file, const std::vector<RecipeEntry>& entries) {
      for (const RecipeEntry& entry : entries) seen.emplace_back(file, number_of(entry.chunk));
    };
  }
  Seen recipes() {
    Seen seen;
    EXPECT_TRUE(ok(view().walk_recipes(note(seen))));
    return seen;
  }
  Seen old_recipes() {
    Seen seen;
    EXPECT_TRUE(ok(view().walk_old_recipes(note(seen))));
    return seen;
  }
};

// They have no name, and disappear when they are closed.
TEST_F(CommittedViewTest, OrphansAreLeftOut) {
  for (const InodeNumber number : {10u, 11u, 12u}) {
    put_inode(number);
    put_segment(number, 0, number);
  }
  put_orphan(11);
  std::vector<InodeNumber> inodes;

  const CommittedView seen = view();
  EXPECT_TRUE(ok(seen.walk_inodes([&](const InodeRecord& record) { inodes.push_back(record.attributes.inode); })));

  EXPECT_THAT(inodes, ElementsAre(10, 12));
  EXPECT_TRUE(seen.is_orphan(11));
  EXPECT_FALSE(seen.is_orphan(10));
  EXPECT_EQ(recipes(), (Seen{{10, 10}, {12, 12}}));
}

TEST_F(CommittedViewTest, IsOfTheMomentInWhichItWasOpened) {
  put_segment(10, 0, 1);
  const CommittedView before = view();
  put_segment(10, 0, 2);
  put_segment(11, 0, 3);
  Seen seen;

  EXPECT_TRUE(ok(before.walk_recipes(note(seen))));

  EXPECT_EQ(seen, (Seen{{10, 1}}));
}

TEST_F(CommittedViewTest, SegmentsOfAFileFollowEachOther) {
  put_segment(11, 0, 3);
  put_segment(10, 10, 2);
  put_segment(10, 0, 1);

  EXPECT_EQ(recipes(), (Seen{{10, 1}, {10, 2}, {11, 3}}));
}

TEST_F(CommittedViewTest, TheRecipeOfOneFileEndsWithTheFileOrWithAnError) {
  for (const std::uint64_t offset : {0u, 10u, 20u}) put_segment(10, offset, 1 + offset);
  put_segment(9, 0, 50);
  put_segment(11, 0, 60);
  std::vector<std::uint64_t> seen;
  const auto visit = [&](const std::vector<RecipeEntry>& entries) -> Result<void> {
    seen.push_back(number_of(entries.at(0).chunk));
    if (seen.size() == 5) return Error{ErrorCode::kInterrupted, "enough"};
    return {};
  };

  EXPECT_TRUE(ok(view().visit_recipe(10, visit)));
  EXPECT_THAT(seen, ElementsAre(1, 11, 21));
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, view().visit_recipe(10, visit)));
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_TRUE(ok(view().visit_recipe(4711, visit)));
}

// A set of the ids that were seen has to be bounded.
TEST_F(CommittedViewTest, AChunkThatWasNeverGivenAwayIsDamage) {
  put_segment(10, 0, 99);
  EXPECT_TRUE(view().was_given_away(ChunkId{99}));
  EXPECT_FALSE(view().was_given_away(ChunkId{100}));
  EXPECT_EQ(recipes().size(), 1u);
  put_segment(11, 0, 100);
  Seen seen;

  const auto walked = view().walk_recipes(note(seen));

  ASSERT_TRUE(fails_with(ErrorCode::kCorruption, walked));
  EXPECT_THAT(walked.error().message(), HasSubstr("inode 11 refers to chunk 100"));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, view().visit_recipe(11, [](const auto&) { return Result<void>(); })));
}

TEST_F(CommittedViewTest, RecordsThatDoNotParseAreDamage) {
  const auto ignore = [](InodeNumber, const std::vector<RecipeEntry>&) {};
  put(Family::kInodes, encode_inode_key(10), "\xff");
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, view().walk_inodes([](const InodeRecord&) {})));
  put(Family::kRecipes, encode_recipe_key(10, 0), "\xff");
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, view().walk_recipes(ignore)));
  put(Family::kBeforeImages, "\xff", "");
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, view().walk_old_recipes(ignore)));
  put(Family::kSnapshots, encode_snapshot_key(1), "\xff");
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, CommittedView::open(*volume)));
}

// ---------------------------------------------------------------- what only snapshots have

TEST_F(CommittedViewTest, WithoutSnapshotsThereIsNothingOld) {
  put_segment(10, 0, 1);
  put_orphan(11);
  put_segment(11, 0, 2);

  EXPECT_THAT(old_recipes(), IsEmpty());
}

TEST_F(CommittedViewTest, OldValuesOfChangedSegmentsAreOld) {
  put_snapshot(1, 100);
  put_snapshot(2, 100);
  put_segment(10, 0, 5);
  put_image(1, 10, 0, 3);
  put_image(2, 10, 0, 4);
  put_image(2, 10, 10, std::nullopt);  // there was none
  put(Family::kBeforeImages, encode_before_image_key(Family::kXattrs, encode_xattr_key(10, "user.a"), 2),
      encode_before_image("value"));

  EXPECT_EQ(old_recipes(), (Seen{{10, 3}, {10, 4}}));
}

// The live tree does not have it any more.
TEST_F(CommittedViewTest, OfAnOrphanTheNewestSnapshotHasWhatDidNotChange) {
  put_snapshot(1, 100);
  put_orphan(10);
  put_segment(10, 0, 1);
  put_segment(10, 10, 2);  // it was 3 then
  put_image(1, 10, 10, 3);
  put_orphan(12);
  put_segment(12, 0, 4);

  EXPECT_EQ(old_recipes(), (Seen{{10, 3}, {10, 1}, {12, 4}}));
}

TEST_F(CommittedViewTest, AnOrphanThatIsNewerThanTheSnapshotIsNotInIt) {
  put_snapshot(1, 11);
  put_orphan(10);
  put_segment(10, 0, 1);
  put_orphan(11);
  put_segment(11, 0, 2);

  EXPECT_EQ(old_recipes(), (Seen{{10, 1}}));
}

TEST_F(CommittedViewTest, ADeletedSnapshotHasNoOrphans) {
  put_snapshot(1, 11);
  put_snapshot(2, 100, /*is_deleted=*/true);
  put_orphan(20);
  put_segment(20, 0, 1);

  EXPECT_THAT(old_recipes(), IsEmpty()) << "the newest that is not deleted ends with inode 10";
}

// An image of an older snapshot says nothing of what the newest has.
TEST_F(CommittedViewTest, AnImageOfAnOlderSnapshotIsNoChangeForTheNewest) {
  put_snapshot(1, 100);
  put_snapshot(2, 100);
  put_orphan(10);
  put_segment(10, 0, 2);
  put_image(1, 10, 0, 1);

  EXPECT_EQ(old_recipes(), (Seen{{10, 1}, {10, 2}}));
}

// ---------------------------------------------------------------- extents

TEST_F(CommittedViewTest, ExtentsComeInOrder) {
  HandMadeContent content(volume->database());
  content.put_extent(20, {raw_chunk(), delta_chunk(10, {5})});
  content.put_extent(5, {raw_chunk()});
  std::vector<std::uint64_t> seen;

  EXPECT_TRUE(ok(view().walk_extents([&](const ChunkExtent& extent) { seen.push_back(number_of(extent.first)); })));

  EXPECT_THAT(seen, ElementsAre(5, 20));
}

TEST_F(CommittedViewTest, ADeltaOfAChunkThatWasNeverGivenAwayIsDamage) {
  HandMadeContent(volume->database()).put_extent(20, {raw_chunk(), delta_chunk(10, {100})});

  const auto walked = view().walk_extents([](const ChunkExtent&) {});

  ASSERT_TRUE(fails_with(ErrorCode::kCorruption, walked));
  EXPECT_THAT(walked.error().message(), HasSubstr("a delta in the run of chunks from 20 refers to chunk 100"));
}

}  // namespace
}  // namespace dedupfs
