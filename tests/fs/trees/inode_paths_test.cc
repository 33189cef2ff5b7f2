#include "fs/trees/inode_paths.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

struct InodePathsTest : testing::Test {
  TestFilesystem fs;

  std::shared_ptr<CommittedState> state() {
    EXPECT_TRUE(ok(fs->sync()));
    return std::make_shared<CommittedState>(fs->volume().database());
  }
};

std::vector<std::string> paths_in(const CommittedTree& tree, const std::vector<InodeNumber>& inodes) {
  InodePaths paths(tree);
  for (const InodeNumber inode : inodes) paths.want(inode);
  EXPECT_TRUE(ok(paths.find()));
  std::vector<std::string> found;
  for (const InodeNumber inode : inodes) found.push_back(paths.path_of(inode));
  return found;
}

TEST_F(InodePathsTest, FindsFilesAndFoldersWhereverTheyWent) {
  const InodeNumber a = fs.make_directory(kRootInode, "a");
  const InodeNumber b = fs.make_directory(a, "b");
  const InodeNumber deep = fs.make_file(b, "deep");
  const InodeNumber top = fs.make_file(kRootInode, "top");
  const InodeNumber c = fs.make_directory(kRootInode, "c");
  const InodeNumber moved = fs.make_file(c, "f");
  ASSERT_TRUE(ok(fs->rename(c, "f", b, "moved", Filesystem::RenameMode::kReplace)));
  const CommittedTree live = CommittedTree::live(state());
  EXPECT_EQ(paths_in(live, {deep, top, moved, a, b, c, kRootInode}),
            (std::vector<std::string>{"a/b/deep", "top", "a/b/moved", "a", "a/b", "c", "."}));
}

TEST_F(InodePathsTest, FindsNamesOfASnapshot) {
  const InodeNumber a = fs.make_directory(kRootInode, "a");
  const InodeNumber file = fs.make_file(a, "f");
  ASSERT_TRUE(ok(fs->create_snapshot("s")));
  ASSERT_TRUE(ok(fs->rename(a, "f", a, "g", Filesystem::RenameMode::kReplace)));
  ASSERT_TRUE(ok(fs->rename(kRootInode, "a", kRootInode, "b", Filesystem::RenameMode::kReplace)));
  const auto now = state();
  EXPECT_EQ(paths_in(value_of(CommittedTree::of_snapshot(now, "s")), {file}), std::vector<std::string>{"a/f"});
  EXPECT_EQ(paths_in(CommittedTree::live(now), {file}), std::vector<std::string>{"b/g"});
}

TEST_F(InodePathsTest, SearchesNearWhereAnInodeWasMadeFirst) {
  std::vector<InodeNumber> files;
  for (int f = 0; f < 30; ++f) {
    const InodeNumber folder = fs.make_directory(kRootInode, fmt::format("d{}", f));
    for (int i = 0; i < 30; ++i) files.push_back(fs.make_file(folder, fmt::format("f{}", i)));
  }
  const auto now = state();
  EXPECT_EQ(paths_in(CommittedTree::live(now), {files[500]}), std::vector<std::string>{"d16/f20"});
  EXPECT_LT(now->records_read, 200U);  // the inodes before it, its folder, the root; there are 930 names
}

TEST_F(InodePathsTest, WhatHasNoNameIsNamedByItsNumber) {
  const InodeNumber file = fs.make_file(kRootInode, "f");
  ASSERT_TRUE(ok(fs->unlink(kRootInode, "f")));  // it is still referenced
  EXPECT_EQ(paths_in(CommittedTree::live(state()), {file, 4711}),
            (std::vector<std::string>{fmt::format("[inode {}]", file), "[inode 4711]"}));
}

TEST_F(InodePathsTest, ACircleOfFoldersEnds) {
  const InodeNumber a = fs.make_directory(kRootInode, "a");
  const InodeNumber b = fs.make_directory(a, "b");
  const CommittedTree live = CommittedTree::live(state());
  InodePaths paths(live);
  paths.know(a, {b, "a"});
  paths.know(b, {a, "b"});
  paths.want(b);
  ASSERT_TRUE(ok(paths.find()));
  EXPECT_TRUE(paths.path_of(b).starts_with("[inode "));
}

}  // namespace
}  // namespace dedupfs
