#include "fs/snapshots/snapshots_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshots_of_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;

struct SnapshotsDirectoryTest : SnapshotsOfFilesystem {};

TEST_F(SnapshotsDirectoryTest, IsInNoListing) {
  EXPECT_THAT(fs_.names(value_of(fs_.find(".snapshots"))), ElementsAre(".", ".."));
  ASSERT_TRUE(ok(fs_->create_snapshot("b")));
  ASSERT_TRUE(ok(fs_->create_snapshot("a")));
  EXPECT_THAT(fs_.names(kRootInode), ElementsAre(".", ".."));
  EXPECT_THAT(fs_.names(value_of(fs_.find(".snapshots"))), ElementsAre(".", "..", "b", "a"));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs_.find(".snapshots/c")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs_.find(".snapshots/a/.snapshots")));
  const auto up = value_of(fs_->lookup(in_snapshot("a", ""), ".."));
  EXPECT_EQ(up.inode, kSnapshotsInode);
  EXPECT_EQ(value_of(fs_->lookup(up.inode, "..")).inode, kRootInode);
  EXPECT_EQ(fs_.attributes(kSnapshotsInode).links, 4U);
}

TEST_F(SnapshotsDirectoryTest, HasANameThatIsTaken) {
  fs_.make_file(kRootInode, "f");
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs_->create(kRootInode, ".snapshots", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs_->make_link(value_of(fs_.find("f")), kRootInode, ".snapshots")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, fs_->remove_directory(kRootInode, ".snapshots")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, fs_->unlink(kRootInode, ".snapshots")));
  const auto replace = Filesystem::RenameMode::kReplace;
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, fs_->rename(kRootInode, "f", kRootInode, ".snapshots", replace)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, fs_->rename(kRootInode, ".snapshots", kRootInode, "g", replace)));
  const InodeNumber elsewhere = fs_.make_directory(kRootInode, "d");
  fs_.make_file(elsewhere, ".snapshots", "mine");
  EXPECT_EQ(fs_.content(value_of(fs_.find("d/.snapshots"))), "mine");
}

TEST(SnapshotsDirectoryAccess, MayBeForTheOwnerOfTheRootOnly) {
  FilesystemOptions options = TestFilesystem::quiet();
  options.snapshot_access = SnapshotAccess::kOwner;
  TestFilesystem fs(options);
  ASSERT_TRUE(ok(fs->create_snapshot("s")));

  ASSERT_TRUE(ok(fs->set_attributes(kRootInode, {.uid = 1000, .gid = 100}, {})));

  const Attributes attributes = fs.attributes(kSnapshotsInode);
  EXPECT_EQ(attributes.mode, S_IFDIR | 0700U);
  EXPECT_EQ(attributes.uid, 1000U);
  EXPECT_EQ(attributes.gid, 100U);
  EXPECT_TRUE(ok(fs.find(".snapshots/s")));
}

TEST(SnapshotsDirectoryAccess, MayBeHiddenFromEverybody) {
  FilesystemOptions options = TestFilesystem::quiet();
  options.snapshot_access = SnapshotAccess::kHidden;
  TestFilesystem fs(options);
  ASSERT_TRUE(ok(fs->create_snapshot("s")));

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs.find(".snapshots")));
  // By number, as NFS handles lead there.
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs->lookup(kSnapshotsInode, ".")));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs->lookup(kSnapshotsInode, "s")));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs->lookup(node_of(1, kRootInode), ".")));
}

// Other programs keep their snapshots in folders of that name, and backups have them.
TEST(SnapshotsDirectoryAccess, WhereItIsHiddenItsNameIsFree) {
  FilesystemOptions options = TestFilesystem::quiet();
  options.snapshot_access = SnapshotAccess::kHidden;
  TestFilesystem fs(options);
  ASSERT_TRUE(ok(fs->create_snapshot("s")));
  const InodeNumber file = fs.make_file(kRootInode, "f", "content");

  const InodeNumber own = fs.make_directory(kRootInode, ".snapshots");
  fs.make_file(own, "1", "mine");
  EXPECT_EQ(fs.content(value_of(fs.find(".snapshots/1"))), "mine");
  EXPECT_TRUE(ok(fs->rename(kRootInode, ".snapshots", kRootInode, "moved", RenameMode::kNoReplace)));
  EXPECT_TRUE(ok(fs->make_link(file, kRootInode, ".snapshots")));
  EXPECT_TRUE(ok(fs->rename(kRootInode, "f", kRootInode, ".snapshots", RenameMode::kReplace)));
  EXPECT_TRUE(ok(fs->unlink(kRootInode, ".snapshots")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->unlink(kRootInode, ".snapshots")));
  EXPECT_TRUE(ok(fs->clone_tree(value_of(fs.find("moved")), kRootInode, ".snapshots")));
  EXPECT_EQ(fs.content(value_of(fs.find(".snapshots/1"))), "mine");
}

}  // namespace
}  // namespace dedupfs
