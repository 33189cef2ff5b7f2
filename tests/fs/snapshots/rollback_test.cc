#include "fs/snapshots/rollback.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "snapshots_of_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct RollbackTest : SnapshotsOfFilesystem {};

TEST_F(RollbackTest, MakesEverythingWhatItWas) {
  const InodeNumber directory = fs_.make_directory(kRootInode, "d");
  const InodeNumber file = fs_.make_file(directory, "f", "old content");
  fs_.make_file(directory, "gone", "gone");
  fs_->forget(value_of(fs_.find("d/gone")), 1);
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  const std::uint64_t inodes = value_of(fs_->space()).inodes;

  fs_.write(file, 0, "NEW");
  EXPECT_TRUE(ok(fs_->unlink(directory, "gone")));
  const InodeNumber newer = fs_.make_directory(kRootInode, "newer");
  fs_.make_file(newer, "x", random_text(50'000, 1));
  EXPECT_TRUE(ok(fs_->rename(directory, "f", kRootInode, "moved", Filesystem::RenameMode::kReplace)));

  const auto changed = value_of(fs_->roll_back("s"));
  const auto has = [&](InodeNumber inode, std::optional<std::string> name) {
    return std::ranges::any_of(changed, [&](const ChangedName& c) { return c.inode == inode && c.name == name; });
  };
  EXPECT_TRUE(has(file, std::nullopt));
  EXPECT_TRUE(has(directory, "f"));
  EXPECT_TRUE(has(kRootInode, "moved"));
  EXPECT_TRUE(has(kRootInode, "newer"));
  EXPECT_FALSE(has(directory, "d"));
  for (const bool reopened : {false, true}) {
    if (reopened) fs_.reopen();
    EXPECT_THAT(fs_.names(kRootInode), ElementsAre(".", "..", "d"));
    EXPECT_THAT(fs_.names(value_of(fs_.find("d"))), ElementsAre(".", "..", "f", "gone"));
    EXPECT_EQ(fs_.content(value_of(fs_.find("d/f"))), "old content");
    EXPECT_EQ(fs_.content(value_of(fs_.find("d/gone"))), "gone");
    EXPECT_EQ(value_of(fs_->space()).inodes, inodes);
    EXPECT_TRUE(fails_with(ErrorCode::kStale, fs_->attributes(newer)));
  }
}

TEST_F(RollbackTest, KeepsTheOtherSnapshots) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", "first");
  ASSERT_TRUE(ok(fs_->create_snapshot("1")));
  fs_.write(file, 0, "secnd");
  ASSERT_TRUE(ok(fs_->create_snapshot("2")));
  fs_.make_file(kRootInode, "late", "late");
  fs_.write(file, 0, "third");
  ASSERT_TRUE(ok(fs_->create_snapshot("3")));
  value_of(fs_->roll_back("1"));
  EXPECT_EQ(fs_.content(value_of(fs_.find("f"))), "first");
  EXPECT_EQ(fs_.content(in_snapshot("2", "f")), "secnd");
  EXPECT_EQ(fs_.content(in_snapshot("3", "late")), "late");
  value_of(fs_->roll_back("3"));
  EXPECT_EQ(fs_.content(value_of(fs_.find("f"))), "third");
  EXPECT_EQ(fs_.content(value_of(fs_.find("late"))), "late");
  EXPECT_EQ(fs_.content(in_snapshot("1", "f")), "first");
}

TEST_F(RollbackTest, IsRefusedWhileAFileIsOpen) {
  const InodeNumber file = fs_.make_file(kRootInode, "busy", "old");
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  ASSERT_TRUE(ok(fs_->open_file(file, false, {})));
  fs_.write(file, 0, "new");
  const auto refused = fs_->roll_back("s");
  ASSERT_TRUE(fails_with(ErrorCode::kBusy, refused));
  EXPECT_THAT(refused.error().message(), HasSubstr("busy"));
  EXPECT_EQ(fs_.content(file), "new");
  fs_->release_file(file, true);
  ASSERT_TRUE(ok(fs_->roll_back("s")));
  EXPECT_EQ(fs_.content(file), "old");
}

TEST_F(RollbackTest, DoesNotWaitForDeletionsInTheBackground) {
  const InodeNumber directory = fs_.make_directory(kRootInode, "d");
  constexpr int kFiles = 3000;
  for (int i = 0; i < kFiles; ++i) fs_->forget(fs_.make_file(directory, fmt::format("f{}", i), "content"), 1);
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  for (int i = 0; i < kFiles; ++i) ASSERT_TRUE(ok(fs_->unlink(directory, fmt::format("f{}", i))));
  ASSERT_TRUE(ok(fs_->roll_back("s")));
  EXPECT_EQ(fs_.names(directory).size(), kFiles + 2U);
  ASSERT_TRUE(fs_.inodes_become(kFiles + 2));
  for (int i = 0; i < kFiles; i += 100) EXPECT_EQ(fs_.content(value_of(fs_.find(fmt::format("d/f{}", i)))), "content");
  fs_.reopen();
  EXPECT_EQ(value_of(fs_->space()).inodes, kFiles + 2U);
}

TEST_F(RollbackTest, WhatWasUnlinkedWhenTheSnapshotWasMadeIsGone) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", "unlinked");
  ASSERT_TRUE(ok(fs_->open_file(file, false, {})));
  EXPECT_TRUE(ok(fs_->unlink(kRootInode, "f")));
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  fs_->release_file(file, false);
  fs_->forget(file, 1);
  ASSERT_TRUE(fs_.inodes_become(1));
  value_of(fs_->roll_back("s"));
  ASSERT_TRUE(fs_.inodes_become(1));
  EXPECT_THAT(fs_.names(kRootInode), ElementsAre(".", ".."));
}

}  // namespace
}  // namespace dedupfs
