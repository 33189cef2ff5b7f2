#include "fs/namespace/inode_attributes.h"

#include <gtest/gtest.h>

#include "test_filesystem.h"

namespace dedupfs {
namespace {

TEST(InodeAttributes, OnlyWhatIsAskedForIsChanged) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");
  const Attributes before = fs.attributes(file);

  const Attributes after = value_of(fs->set_attributes(file, {.atime = Timestamp{-5, 7}}, {}));

  EXPECT_EQ(after.atime, (Timestamp{-5, 7}));
  EXPECT_EQ(after.mtime, before.mtime);
  EXPECT_EQ(after.mode, before.mode);
  EXPECT_GT(after.ctime, before.ctime);
  EXPECT_EQ(value_of(fs->set_attributes(file, {}, {})), after);
}

TEST(InodeAttributes, ANewSizeIsAChangeOfTheContent) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", "text");
  const Attributes before = fs.attributes(file);

  const Attributes shorter = value_of(fs->set_attributes(file, {.size = 2}, {}));
  const Attributes longer = value_of(fs->set_attributes(file, {.size = 5}, {}));

  EXPECT_EQ(shorter.size, 2U);
  EXPECT_GT(shorter.mtime, before.mtime);
  EXPECT_GT(shorter.ctime, before.ctime);
  EXPECT_EQ(longer.size, 5U);
  EXPECT_EQ(fs.content(file), std::string("te\0\0\0", 5));
}

TEST(InodeAttributes, ANewModeLeavesTheTypeAsItIs) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");

  const Attributes after = value_of(fs->set_attributes(directory, {.mode = S_IFREG | 0700}, {}));

  EXPECT_EQ(after.mode, S_IFDIR | 0700U);
  EXPECT_EQ(fs.attributes(directory), after);
}

TEST(InodeAttributes, OfAnInodeThatIsNotThereAreStale) {
  TestFilesystem fs;

  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs->attributes(999)));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs->set_attributes(999, {.mode = 0600}, {})));
}

}  // namespace
}  // namespace dedupfs
