#include "fs/transfer/received_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/test_filesystem.h"

namespace dedupfs::transfer {
namespace {

const SnapshotIdentity kMonday{"93883694-6fbf-47b9-ab10-ed37024f0ba1", 3, "monday", 1'700'000'000,
                               "0f8b6bfa-7d6c-4d0e-9f3b-5a0c9d1e2f30"};

TEST(ReceivedFolder, IsMadeBelowWhatIsThere) {
  TestFilesystem fs;
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, ReceivedFolder::open(*fs, "/a/b", /*make=*/true)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, ReceivedFolder::open(*fs, "a", /*make=*/false)));
  const auto made = ReceivedFolder::open(*fs, "/a/", /*make=*/true);
  ASSERT_TRUE(ok(made));
  EXPECT_EQ(made->inode(), value_of(find_path(*fs, kRootInode, "a")).inode);
  EXPECT_TRUE(ok(ReceivedFolder::open(*fs, "a/b", /*make=*/true)));
  EXPECT_TRUE(value_of(ReceivedFolder::open(*fs, "", /*make=*/false)).is_root());
}

TEST(ReceivedFolder, IsAFolderOfTheLiveTree) {
  TestFilesystem fs;
  fs.make_file(kRootInode, "file");
  ASSERT_TRUE(ok(fs->create_snapshot("s")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotDirectory, ReceivedFolder::open(*fs, "file", /*make=*/true)));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, ReceivedFolder::open(*fs, ".snapshots/s", /*make=*/true)));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, ReceivedFolder::open(*fs, ".snapshots", /*make=*/true)));
  EXPECT_FALSE(ReceivedFolder::open(*fs, "../x", /*make=*/true));
}

TEST(ReceivedFolder, ItsCopyIsFoundUnderAnyNameOfTheSnapshot) {
  TestFilesystem fs;
  const auto folder = value_of(ReceivedFolder::open(*fs, "a", /*make=*/true));
  EXPECT_FALSE(value_of(folder.state()));
  EXPECT_FALSE(value_of(folder.find_copy(kMonday)));
  ASSERT_TRUE(ok(folder.note({.snapshot = kMonday, .is_complete = false})));
  ASSERT_TRUE(ok(fs->create_snapshot("half")));
  EXPECT_FALSE(value_of(folder.find_copy(kMonday))) << "it is not complete";
  ASSERT_TRUE(
      ok(folder.note({.snapshot = kMonday, .is_complete = true, .dated_unix_seconds = kMonday.created_unix_seconds})));
  ASSERT_TRUE(ok(fs->create_snapshot("whole", kMonday.created_unix_seconds)));

  const auto copy = value_of(folder.find_copy(kMonday));

  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->snapshot.name, "whole");
  SnapshotIdentity tuesday = kMonday;
  tuesday.uuid.back() = '1';
  EXPECT_FALSE(value_of(folder.find_copy(tuesday)));
  EXPECT_TRUE(value_of(folder.state())->is_complete);
}

TEST(ReceivedFolder, ChangesInItAreNamed) {
  TestFilesystem fs;
  const auto folder = value_of(ReceivedFolder::open(*fs, "a", /*make=*/true));
  const InodeNumber file = fs.make_file(folder.inode(), "file", "x");
  ASSERT_TRUE(
      ok(folder.note({.snapshot = kMonday, .is_complete = true, .dated_unix_seconds = kMonday.created_unix_seconds})));
  ASSERT_TRUE(ok(fs->create_snapshot("whole", kMonday.created_unix_seconds)));
  const auto copy = value_of(folder.find_copy(kMonday));
  ASSERT_TRUE(copy);
  fs.make_file(kRootInode, "abc", "beside it");
  EXPECT_TRUE(ok(folder.check_unchanged(*copy, {})));
  fs.write(file, 0, "y");

  const auto checked = folder.check_unchanged(*copy, {});

  EXPECT_TRUE(fails_with(ErrorCode::kBusy, checked));
  EXPECT_THAT(checked.error().message(), testing::HasSubstr("a/file"));
}

TEST(ReceivedFolder, InTheRootOnlyNamesOfTheSenderCount) {
  TestFilesystem fs;
  const auto root = value_of(ReceivedFolder::open(*fs, "", /*make=*/true));
  const InodeNumber theirs = fs.make_file(kRootInode, "theirs", "x");
  const InodeNumber own = fs.make_file(kRootInode, "own", "x");
  ASSERT_TRUE(
      ok(root.note({.snapshot = kMonday, .is_complete = true, .dated_unix_seconds = kMonday.created_unix_seconds})));
  ASSERT_TRUE(ok(fs->create_snapshot("whole", kMonday.created_unix_seconds)));
  const auto copy = value_of(root.find_copy(kMonday));
  ASSERT_TRUE(copy);
  fs.write(own, 0, "y");
  EXPECT_TRUE(ok(root.check_unchanged(*copy, {"theirs"})));
  fs.write(theirs, 0, "y");
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, root.check_unchanged(*copy, {"theirs"})));
}

// A snapshot is what counts, not the moment before it.
TEST(ReceivedFolder, WhatChangedInFrontOfTheSnapshotIsNoChangeOfTheStream) {
  TestFilesystem fs;
  const auto folder = value_of(ReceivedFolder::open(*fs, "a", /*make=*/true));
  const InodeNumber file = fs.make_file(folder.inode(), "file", "x");
  const InodeNumber work = fs.make_directory(kRootInode, "work");
  StreamChanges changes = value_of(StreamChanges::open(*fs, work, /*goes_on=*/false, 1000));
  ASSERT_TRUE(ok(changes.note_finished(file, fs.attributes(file).ctime)));
  const auto check = [&](const SnapshotRecord& snapshot) {
    return folder.check_changes(std::nullopt, {}, changes, snapshot);
  };
  ASSERT_TRUE(ok(fs->create_snapshot("1", std::nullopt, [&](const SnapshotRecord& snapshot) {
    fs.write(file, 0, "behind the snapshot");
    return check(snapshot);
  })));

  const auto changed = fs->create_snapshot("2", std::nullopt, check);

  EXPECT_TRUE(fails_with(ErrorCode::kBusy, changed));
  EXPECT_THAT(changed.error().message(), testing::HasSubstr("a/file"));
  EXPECT_EQ(fs->snapshots().size(), 1u);
}

TEST(FindPath, FollowsNamesAndNothingElse) {
  TestFilesystem fs;
  const InodeNumber a = fs.make_directory(kRootInode, "a");
  const InodeNumber b = fs.make_directory(a, "b");
  value_of(fs->make_symlink(kRootInode, "link", "a", {}));
  EXPECT_EQ(value_of(find_path(*fs, kRootInode, "a/b")).inode, b);
  EXPECT_EQ(value_of(find_path(*fs, a, "")).inode, a);
  EXPECT_EQ(value_of(find_path(*fs, a, ".")).inode, a);
  for (const char* const path : {"a/../a", "link/b", "a//b", "/a", "a/./b", "b"})
    EXPECT_FALSE(find_path(*fs, kRootInode, path)) << path;
}

}  // namespace
}  // namespace dedupfs::transfer
