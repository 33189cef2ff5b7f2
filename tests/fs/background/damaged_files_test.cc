#include "fs/background/damaged_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fs/format/recipe_format.h"
#include "fs/test_filesystem.h"
#include "store/chunks/damage_record.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct DamagedFilesTest : testing::Test {
  TestFilesystem fs;

  ChunkId first_chunk_of(InodeNumber file) {
    EXPECT_TRUE(ok(fs->sync()));
    const auto segment = value_of(fs->volume().database().get(Family::kRecipes, encode_recipe_key(file, 0)));
    return value_of(decode_segment(*segment)).front().chunk;
  }
  void damage(ChunkId id) {
    fs->volume().chunks().damage().note(id);
    fs.make_file(kRootInode, "a change " + std::to_string(number_of(id)));
    EXPECT_TRUE(ok(fs->sync()));
  }
  std::vector<std::string> named() { return value_of(name_damaged_files(fs->volume().database(), 1000)).names; }
};

TEST_F(DamagedFilesTest, NamesFilesAndThoseThatOnlySnapshotsHave) {
  const InodeNumber folder = fs.make_directory(kRootInode, "folder");
  const InodeNumber damaged = fs.make_file(folder, "damaged", random_text(50'000, 1));
  fs.make_file(folder, "whole", random_text(50'000, 2));
  const InodeNumber gone = fs.make_file(folder, "gone", random_text(50'000, 3));
  const ChunkId one = first_chunk_of(damaged);
  const ChunkId other = first_chunk_of(gone);
  EXPECT_THAT(named(), IsEmpty());
  ASSERT_TRUE(ok(fs->create_snapshot("monday")));
  EXPECT_TRUE(ok(fs->set_attributes(gone, {.size = 0}, {})));
  damage(one);
  EXPECT_THAT(named(), ElementsAre("/folder/damaged"));
  damage(other);
  EXPECT_THAT(named(), ElementsAre("/folder/damaged", "/.snapshots/monday/folder/gone"));
}

// Its images belong to the older one from then on, wherever they still lie.
TEST_F(DamagedFilesTest, NamesFilesOfAnOlderSnapshotIfANewerOneIsDeleted) {
  const InodeNumber file = fs.make_file(kRootInode, "file", random_text(50'000, 1));
  const ChunkId chunk = first_chunk_of(file);
  ASSERT_TRUE(ok(fs->create_snapshot("monday")));
  ASSERT_TRUE(ok(fs->create_snapshot("tuesday")));
  EXPECT_TRUE(ok(fs->set_attributes(file, {.size = 0}, {})));
  damage(chunk);
  EXPECT_THAT(named(), ElementsAre("/.snapshots/tuesday/file"));

  ASSERT_TRUE(ok(fs->delete_snapshot("tuesday")));

  EXPECT_THAT(named(), ElementsAre("/.snapshots/monday/file"));
}

TEST_F(DamagedFilesTest, NamesFilesWhoseDeltasNeedADamagedChunk) {
  const std::string content = random_text(200'000, 1);
  std::string changed = content;
  for (std::size_t at = 500; at < changed.size(); at += 2000) changed[at] = static_cast<char>(changed[at] ^ 1);
  const InodeNumber base = fs.make_file(kRootInode, "base", content);
  const ChunkId chunk = first_chunk_of(base);
  fs.make_file(kRootInode, "delta", changed);
  EXPECT_TRUE(ok(fs->sync()));
  damage(chunk);
  EXPECT_THAT(named(), testing::Contains("/delta"));
}

TEST_F(DamagedFilesTest, FilesBeyondTheMostAreCounted) {
  std::vector<InodeNumber> files;
  for (unsigned i = 0; i < 4; ++i) files.push_back(fs.make_file(kRootInode, std::to_string(i), random_text(50'000, i)));
  std::vector<ChunkId> chunks;
  for (const InodeNumber file : files) chunks.push_back(first_chunk_of(file));
  ASSERT_TRUE(ok(fs->create_snapshot("monday")));
  EXPECT_TRUE(ok(fs->set_attributes(files[3], {.size = 0}, {})));
  for (const ChunkId chunk : chunks) damage(chunk);

  const DamagedFileNames found = value_of(name_damaged_files(fs->volume().database(), 2));

  EXPECT_THAT(found.names, ElementsAre("/0", "/1"));
  EXPECT_EQ(found.more, 2u);
}

// An unmount waits for it.
TEST_F(DamagedFilesTest, EndsOnceItIsNotWanted) {
  const InodeNumber file = fs.make_file(kRootInode, "f", random_text(50'000, 1));
  for (unsigned i = 0; i < 300; ++i) fs->forget(fs.make_file(kRootInode, "other " + std::to_string(i), "content"), 1);
  damage(first_chunk_of(file));

  const auto found = name_damaged_files(fs->volume().database(), 1000, [] {
    return Result<void>(Error{ErrorCode::kInterrupted, "not wanted"});
  });

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, found));
}

}  // namespace
}  // namespace dedupfs
