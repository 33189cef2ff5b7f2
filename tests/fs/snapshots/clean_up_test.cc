#include "fs/snapshots/clean_up.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "fs/format/recipe_format.h"
#include "snapshots_of_filesystem.h"
#include "store/chunks/dropped_bytes.h"

namespace dedupfs {
namespace {

struct CleanUpTest : SnapshotsOfFilesystem {};

TEST_F(CleanUpTest, NothingIsLeftOfSnapshotsThatWereDeleted) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", random_text(100'000, 1));
  ASSERT_TRUE(ok(fs_->create_snapshot("a")));
  fs_.write(file, 0, random_text(100'000, 2));
  ASSERT_TRUE(ok(fs_->create_snapshot("b")));
  fs_.write(file, 0, random_text(100'000, 3));
  EXPECT_NE(images(), 0U);
  const InodeNumber of_a = in_snapshot("a", "f");
  ASSERT_TRUE(ok(fs_->delete_snapshot("a")));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs_->read(of_a, 0, 10)));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs_->attributes(of_a)));
  EXPECT_EQ(fs_.content(in_snapshot("b", "f")), random_text(100'000, 2));
  ASSERT_TRUE(ok(fs_->delete_snapshot("b")));
  ASSERT_TRUE(cleaned_up());
  EXPECT_EQ(images(), 0U);
  EXPECT_EQ(fs_.content(file), random_text(100'000, 3));
}

TEST_F(CleanUpTest, ADeletionThatACrashInterruptsIsFinished) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", "old");
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  fs_.write(file, 0, "new");
  ASSERT_TRUE(ok(fs_->delete_snapshot("s")));
  const auto crashed = fs_.after_crash();
  for (int i = 0; i < 500 && !(*crashed)->volume().snapshots().deleted().empty(); ++i) {
    EXPECT_TRUE(ok((*crashed)->sync()));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(ok((*crashed)->sync()));
  EXPECT_TRUE((*crashed)->volume().database().list(Family::kBeforeImages, {}, {}, 1)->empty());
}

TEST_F(CleanUpTest, ChunksOfARecipeThatIsGoneCountAsDropped) {
  ChunkStore& chunks = fs_->volume().chunks();
  const std::uint64_t before = chunks.dropped().count();
  const RecipeEntry chunk{.kind = RecipeEntry::Kind::kChunk, .length = 3000, .chunk = ChunkId{7}, .bytes = {}};
  const RecipeEntry hole{.kind = RecipeEntry::Kind::kHole, .length = 5000, .chunk = {}, .bytes = {}};

  note_dropped(chunks, Family::kRecipes, encode_segment({chunk, hole, chunk}));
  EXPECT_EQ(chunks.dropped().count(), before + 6000);

  note_dropped(chunks, Family::kXattrs, encode_segment({chunk}));
  note_dropped(chunks, Family::kRecipes, "nonsense");
  EXPECT_EQ(chunks.dropped().count(), before + 6000);
}

}  // namespace
}  // namespace dedupfs
