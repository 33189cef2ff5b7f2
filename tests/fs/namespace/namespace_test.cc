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

// ---------------------------------------------------------------- files without a name (O_TMPFILE)

TEST(UnnamedFiles, TakeOwnerAndGroupFromCallerAndDirectoryAndChangeNothingThere) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  ASSERT_TRUE(ok(fs->set_attributes(directory, {.mode = 02777, .gid = 7}, {})));
  const Attributes before = fs.attributes(directory);

  const Attributes made = value_of(fs->make_unnamed(directory, 0640, {.uid = 5, .gid = 6}));

  EXPECT_EQ(made.links, 0U);
  EXPECT_EQ(made.mode, std::uint32_t{S_IFREG | 0640});
  EXPECT_EQ(made.uid, 5U);
  EXPECT_EQ(made.gid, 7U);
  EXPECT_EQ(fs.attributes(directory), before);
  EXPECT_EQ(fs.names(directory), (std::vector<std::string>{".", ".."}));
}

TEST(UnnamedFiles, HoldContentUntilTheirLastHolderGoes) {
  TestFilesystem fs;
  const InodeNumber file = value_of(fs->make_unnamed(kRootInode, 0600, {})).inode;
  fs.write(file, 0, "content");
  EXPECT_EQ(fs.content(file), "content");
  EXPECT_EQ(value_of(fs->space()).inodes, 2U);

  fs->forget(file, 1);

  EXPECT_TRUE(fs.inodes_become(1));
}

TEST(UnnamedFiles, StayWhenTheyGetAName) {
  TestFilesystem fs;
  const InodeNumber file = value_of(fs->make_unnamed(kRootInode, 0600, {})).inode;
  fs.write(file, 0, "content");

  EXPECT_EQ(value_of(fs->make_link(file, kRootInode, "f")).links, 1U);
  fs->forget(file, 2);
  ASSERT_TRUE(ok(fs->sync()));
  fs.reopen();

  EXPECT_EQ(fs.content(value_of(fs.find("f"))), "content");
  EXPECT_EQ(value_of(fs->space()).inodes, 2U);
}

// As on a local disk: a name that was removed does not come back.
TEST(UnnamedFiles, OnlyWhatNeverHadANameGetsOne) {
  TestFilesystem fs;
  const InodeNumber file = value_of(fs->make_unnamed(kRootInode, 0600, {})).inode;
  value_of(fs->make_link(file, kRootInode, "f"));
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "f")));

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->make_link(file, kRootInode, "g")));
  fs->forget(file, 2);
  EXPECT_TRUE(fs.inodes_become(1));
}

TEST(UnnamedFiles, AnExistingNameIsNotTheirs) {
  TestFilesystem fs;
  fs.make_file(kRootInode, "f");
  const InodeNumber file = value_of(fs->make_unnamed(kRootInode, 0600, {})).inode;

  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs->make_link(file, kRootInode, "f")));
  EXPECT_EQ(value_of(fs->make_link(file, kRootInode, "g")).links, 1U);
}

TEST(UnnamedFiles, NeedADirectoryThatIsThere) {
  TestFilesystem fs;
  const InodeNumber directory = fs.make_directory(kRootInode, "d");
  const InodeNumber file = fs.make_file(kRootInode, "f");
  ASSERT_TRUE(ok(fs->remove_directory(kRootInode, "d")));

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->make_unnamed(directory, 0600, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kNotDirectory, fs->make_unnamed(file, 0600, {})));
}

TEST(UnnamedFiles, ACrashLeavesThemToTheNextMount) {
  TestFilesystem fs;
  const InodeNumber file = value_of(fs->make_unnamed(kRootInode, 0600, {})).inode;
  fs.write(file, 0, random_text(100'000, 1));
  ASSERT_TRUE(ok(fs->sync_file(file)));

  const auto crashed = fs.after_crash();

  EXPECT_TRUE(crashed->inodes_become(1));
}

// The name and the end of the orphan are one change.
TEST(UnnamedFiles, ACrashAfterTheNameIsDurableLosesNothing) {
  TestFilesystem fs;
  const std::string content = random_text(100'000, 1);
  const InodeNumber file = value_of(fs->make_unnamed(kRootInode, 0600, {})).inode;
  fs.write(file, 0, content);
  ASSERT_TRUE(ok(fs->sync()));
  const auto before = fs.after_crash();
  value_of(fs->make_link(file, kRootInode, "f"));
  ASSERT_TRUE(ok(fs->sync()));
  const auto after = fs.after_crash();

  EXPECT_TRUE(before->inodes_become(1));
  EXPECT_EQ(after->content(value_of(after->find("f"))), content);
  EXPECT_TRUE(value_of((*after)->volume().metadata().list(Family::kOrphans, {}, {}, 1)).empty());
  ASSERT_TRUE(ok((*after)->sync()));
  after->reopen();
  EXPECT_EQ(after->content(value_of(after->find("f"))), content);
  EXPECT_EQ(after->attributes(value_of(after->find("f"))).links, 1U);
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
