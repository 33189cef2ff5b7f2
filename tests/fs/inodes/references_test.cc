#include "fs/inodes/references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/mutex.h"
#include "fs/test_filesystem.h"
#include "inodes_of_volume.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;

struct ReferencesTest : InodesOfVolume {};

TEST_F(ReferencesTest, ByNumberLeadToWhatHasANameOrAHolder) {
  put_file(5);
  put_orphan(TestMetadata::file_record(6));
  put_orphan(TestMetadata::file_record(7));
  table_.reference(7, 1);

  EXPECT_EQ(value_of(references_.add(5)).uid, 5U);
  EXPECT_TRUE(fails_with(ErrorCode::kStale, references_.add(6)));
  EXPECT_EQ(value_of(references_.add(7)).links, 0U);
  EXPECT_TRUE(fails_with(ErrorCode::kStale, references_.add(8)));
}

TEST_F(ReferencesTest, TheLastOneOfAnUnlinkedInodeGivesItToTheReaper) {
  put_file(5);
  value_of(references_.add(5));
  value_of(references_.add(5));
  ASSERT_FALSE(table_.mark_orphan(5));

  references_.drop(5, 1);
  EXPECT_EQ(reaper_.pushed(), 0U);
  references_.drop(5, 1);
  EXPECT_EQ(reaper_.pushed(), 1U);
  EXPECT_TRUE(value_of(table_.get(5))->unlinked);
}

TEST_F(ReferencesTest, RememberTheNameThatLedThere) {
  put_file(5);
  const InodePtr inode = value_of(table_.get(5));

  EXPECT_EQ(references_.add(*inode, 3, "name").inode, 5U);

  const MutexLock lock(inode->mutex);
  EXPECT_EQ(inode->last_parent, 3U);
  EXPECT_EQ(inode->last_name, "name");
}

TEST_F(ReferencesTest, TheEntryOfADamagedInodeIsNotCounted) {
  put_file(5);
  metadata_.put(Family::kInodes, encode_inode_key(6), "nonsense");
  DirectoryEntry sound;
  DirectoryEntry damaged;

  references_.add(sound, 3, 5);
  references_.add(damaged, 3, 6);

  EXPECT_TRUE(sound.counted);
  EXPECT_EQ(sound.attributes.inode, 5U);
  EXPECT_FALSE(damaged.counted);
  EXPECT_EQ(damaged.attributes, Attributes());
}

TEST(References, AnUnlinkedFileLivesUntilItIsClosedAndForgotten) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a", "text");
  ASSERT_TRUE(ok(fs->open_file(file, false, {})));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "a")));

  EXPECT_EQ(fs.attributes(file).links, 0U);
  fs.write(file, 4, " and more");
  ASSERT_TRUE(ok(fs->sync()));
  EXPECT_EQ(fs.content(file), "text and more");
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->make_link(file, kRootInode, "again")));

  fs->release_file(file, true);
  fs->forget(file, 1);
  EXPECT_TRUE(fs.inodes_become(1));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs->lookup(file, ".")));
}

TEST(References, CountedEntriesAreReferences) {
  TestFilesystem fs;
  const InodeNumber a = fs.make_file(kRootInode, "a");
  const InodeNumber b = fs.make_file(kRootInode, "b");
  fs->forget(a, 1);
  fs->forget(b, 1);

  std::vector<std::string> seen;
  ASSERT_TRUE(ok(fs->read_directory(kRootInode, 2, true, [&](const DirectoryEntry& entry) {
    EXPECT_TRUE(entry.counted);
    EXPECT_EQ(entry.attributes.links, 1U);
    seen.push_back(entry.name);
    return entry.name == "a";
  })));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "a")));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "b")));

  EXPECT_THAT(seen, ElementsAre("a", "b"));
  EXPECT_TRUE(fs.inodes_become(2));  // b was refused by the visitor
  EXPECT_EQ(fs.attributes(a).links, 0U);
  fs->forget(a, 1);
  EXPECT_TRUE(fs.inodes_become(1));
}

}  // namespace
}  // namespace dedupfs
