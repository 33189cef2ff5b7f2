#include "fs/namespace/namespace.h"

#include <gtest/gtest.h>

#include "test_filesystem.h"

namespace dedupfs {
namespace {

TEST(Namespace, NamesAreAnyBytesButSlashAndNul) {
  TestFilesystem fs;
  const std::string longest(kMaxName, '\xfe');
  fs.make_file(kRootInode, longest);
  fs.make_file(kRootInode, "\n\t \\*");

  EXPECT_TRUE(ok(fs.find(longest)));
  EXPECT_TRUE(fails_with(ErrorCode::kNameTooLong, fs->create(kRootInode, longest + "x", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kNameTooLong, fs->lookup(kRootInode, longest + "x")));
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("a\0", 2)})
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->create(kRootInode, name, 0644, {}))) << name;
}

TEST(Namespace, DotsLeadToTheDirectoryAndItsParent) {
  TestFilesystem fs;
  const InodeNumber outer = fs.make_directory(kRootInode, "outer");
  const InodeNumber inner = fs.make_directory(outer, "inner");

  EXPECT_EQ(value_of(fs->lookup(inner, ".")).inode, inner);
  EXPECT_EQ(value_of(fs->lookup(inner, "..")).inode, outer);
  EXPECT_EQ(value_of(fs->lookup(kRootInode, "..")).inode, kRootInode);
}

TEST(Namespace, CreatingWhatExistsFails) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a");

  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs->create(kRootInode, "a", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs->make_directory(kRootInode, "a", 0755, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs->make_link(file, kRootInode, "a")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotDirectory, fs->create(file, "b", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs->create(999, "b", 0644, {})));
}

TEST(Namespace, HardLinksShareOneInode) {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "a", "text");
  const InodeNumber directory = fs.make_directory(kRootInode, "d");

  EXPECT_EQ(value_of(fs->make_link(file, directory, "b")).links, 2U);
  EXPECT_TRUE(ok(fs->unlink(kRootInode, "a")));

  EXPECT_EQ(fs.attributes(file).links, 1U);
  EXPECT_EQ(fs.content(value_of(fs.find("d/b"))), "text");
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, fs->make_link(directory, kRootInode, "e")));
}

TEST(Namespace, DirectoriesCountTheirSubdirectories) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  fs.make_directory(directory, "one");
  fs.make_directory(directory, "two");
  fs.make_file(directory, "file");

  EXPECT_EQ(fs.attributes(directory).links, 4U);
  EXPECT_TRUE(fails_with(ErrorCode::kNotEmpty, fs->remove_directory(kRootInode, "d")));
  EXPECT_TRUE(fails_with(ErrorCode::kIsDirectory, fs->unlink(directory, "one")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotDirectory, fs->remove_directory(directory, "file")));
  EXPECT_TRUE(ok(fs->remove_directory(directory, "one")));
  EXPECT_EQ(fs.attributes(directory).links, 3U);
}

TEST(Namespace, ARemovedDirectoryTakesNoNames) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber file = fs.make_file(kRootInode, "f");
  ASSERT_TRUE(ok(fs->remove_directory(kRootInode, "d")));

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->create(directory, "x", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->make_link(file, directory, "x")));
  EXPECT_TRUE(
      fails_with(ErrorCode::kNotFound, fs->rename(kRootInode, "f", directory, "x", Filesystem::RenameMode::kReplace)));
}

TEST(Namespace, ChangingNamesTouchesDirectoryAndInode) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber file = fs.make_file(kRootInode, "f");
  const Attributes directory_before = fs.attributes(directory);
  const Attributes file_before = fs.attributes(file);

  value_of(fs->make_link(file, directory, "g"));

  EXPECT_GT(fs.attributes(directory).mtime, directory_before.mtime);
  EXPECT_GT(fs.attributes(directory).ctime, directory_before.ctime);
  EXPECT_GT(fs.attributes(file).ctime, file_before.ctime);
  EXPECT_EQ(fs.attributes(file).mtime, file_before.mtime);
}

}  // namespace
}  // namespace dedupfs
