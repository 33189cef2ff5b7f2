// Snapshots, their directory, and going back to one, without a mount.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "fs/faulty_filesystem.h"
#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SnapshotsTest : public testing::Test {
 protected:
  InodeNumber in_snapshot(std::string_view name, std::string_view path) {
    return value_of(fs_.find(fmt::format(".snapshots/{}/{}", name, path)));
  }
  bool cleaned_up() {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      EXPECT_TRUE(ok(fs_->sync()));
      if (fs_->volume().snapshots().deleted().empty()) return true;
    }
    return false;
  }
  std::size_t images() {
    EXPECT_TRUE(ok(fs_->sync()));
    return fs_->volume().database().list(Family::kBeforeImages, {}, {}, SIZE_MAX)->size();
  }

  TestFilesystem fs_;
};

TEST_F(SnapshotsTest, ShowsEverythingAsItWas) {
  const std::string old_content = random_text(100'000, 1);
  const InodeNumber directory = fs_.make_directory(kRootInode, "d");
  const InodeNumber file = fs_.make_file(directory, "f", old_content, 0640);
  EXPECT_TRUE(ok(fs_->set_xattr(file, "user.note", "old", Filesystem::XattrMode::kSet)));
  value_of(fs_->make_symlink(directory, "l", "f", {}));
  const InodeNumber gone = fs_.make_file(directory, "gone", "short");
  ASSERT_TRUE(ok(fs_->create_snapshot("monday")));

  fs_.write(file, 50'000, random_text(100'000, 2));
  EXPECT_TRUE(ok(fs_->set_attributes(file, {.mode = 0600}, {})));
  EXPECT_TRUE(ok(fs_->set_xattr(file, "user.note", "new", Filesystem::XattrMode::kSet)));
  EXPECT_TRUE(ok(fs_->unlink(directory, "gone")));
  fs_->forget(gone, 1);
  EXPECT_TRUE(ok(fs_->rename(directory, "f", kRootInode, "moved", Filesystem::RenameMode::kReplace)));
  fs_.make_file(directory, "later", "x");

  for (const bool reopened : {false, true}) {
    if (reopened) fs_.reopen();
    const InodeNumber old = in_snapshot("monday", "d/f");
    EXPECT_EQ(fs_.content(old), old_content);
    EXPECT_EQ(fs_.attributes(old).mode, S_IFREG | 0640U);
    EXPECT_EQ(fs_.attributes(old).inode, old);
    EXPECT_EQ(value_of(fs_->get_xattr(old, "user.note")), "old");
    EXPECT_THAT(value_of(fs_->list_xattrs(old)), ElementsAre("user.note"));
    EXPECT_EQ(value_of(fs_->read_symlink(in_snapshot("monday", "d/l"))), "f");
    EXPECT_EQ(fs_.content(in_snapshot("monday", "d/gone")), "short");
    EXPECT_THAT(fs_.names(in_snapshot("monday", "d")), ElementsAre(".", "..", "f", "l", "gone"));
    EXPECT_THAT(fs_.names(in_snapshot("monday", "")), ElementsAre(".", "..", "d"));
    EXPECT_EQ(fs_.content(value_of(fs_.find("moved"))).substr(0, 50'000), old_content.substr(0, 50'000));
  }
}

TEST_F(SnapshotsTest, StandInADirectoryThatNoListingShows) {
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

TEST_F(SnapshotsTest, NothingOfThemCanBeChanged) {
  fs_.make_file(kRootInode, "f", "content");
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  const InodeNumber root = in_snapshot("s", "");
  const InodeNumber file = in_snapshot("s", "f");
  const InodeNumber live = value_of(fs_.find("f"));
  const ErrorCode expected = ErrorCode::kReadOnly;
  for (const InodeNumber directory : {root, kSnapshotsInode}) {
    EXPECT_TRUE(fails_with(expected, fs_->create(directory, "x", 0644, {})));
    EXPECT_TRUE(fails_with(expected, fs_->make_directory(directory, "x", 0755, {})));
    EXPECT_TRUE(fails_with(expected, fs_->make_symlink(directory, "x", "y", {})));
    EXPECT_TRUE(fails_with(expected, fs_->make_link(live, directory, "x")));
    EXPECT_TRUE(fails_with(expected, fs_->rename(kRootInode, "f", directory, "x", Filesystem::RenameMode::kReplace)));
    EXPECT_TRUE(fails_with(expected, fs_->rename(directory, "f", kRootInode, "x", Filesystem::RenameMode::kReplace)));
    EXPECT_TRUE(fails_with(expected, fs_->unlink(directory, "f")));
    EXPECT_TRUE(fails_with(expected, fs_->remove_directory(directory, "s")));
    EXPECT_TRUE(fails_with(expected, fs_->set_attributes(directory, {.mode = 0700}, {})));
  }
  EXPECT_TRUE(fails_with(expected, fs_->make_link(file, kRootInode, "x")));
  EXPECT_TRUE(fails_with(expected, fs_->write(file, 0, bytes_of("x"), {}, nullptr)));
  EXPECT_TRUE(fails_with(expected, fs_->open_file(file, true, {})));
  EXPECT_TRUE(fails_with(expected, fs_->check_writable(file)));
  EXPECT_TRUE(fails_with(expected, fs_->allocate(file, 0, 10, Filesystem::AllocateMode::kExtend)));
  EXPECT_TRUE(fails_with(expected, fs_->copy_range(live, 0, file, 0, 3)));
  EXPECT_TRUE(fails_with(expected, fs_->set_xattr(file, "user.x", "y", Filesystem::XattrMode::kSet)));
  EXPECT_TRUE(fails_with(expected, fs_->remove_xattr(file, "user.x")));
  EXPECT_EQ(fs_.content(file), "content");
}

TEST_F(SnapshotsTest, TheNameOfTheirDirectoryIsTaken) {
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

TEST_F(SnapshotsTest, RefusesNamesThatCannotBeAndThoseThatAre) {
  for (const std::string name : {"", ".", "..", "a/b", ".hidden", "-option", "new\nline"})
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs_->create_snapshot(name))) << name;
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs_->create_snapshot(std::string(256, 'x'))));
  ASSERT_TRUE(ok(fs_->create_snapshot(std::string(255, 'x'))));
  ASSERT_TRUE(ok(fs_->create_snapshot("once")));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs_->create_snapshot("once")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs_->delete_snapshot("never")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs_->roll_back("never")));
  ASSERT_TRUE(ok(fs_->delete_snapshot("once")));
  ASSERT_TRUE(ok(fs_->create_snapshot("once")));
}

TEST_F(SnapshotsTest, OnAReadOnlyMountTheyCanBeReadOnly) {
  fs_.make_file(kRootInode, "f", "content");
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  fs_.write(value_of(fs_.find("f")), 0, "CONTENT");
  fs_.reopen(/*read_only=*/true);
  EXPECT_EQ(fs_.content(in_snapshot("s", "f")), "content");
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs_->create_snapshot("t")));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs_->delete_snapshot("s")));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs_->roll_back("s")));
}

TEST_F(SnapshotsTest, AreDurableWhenTheCallReturns) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", "content");
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  fs_.write(file, 0, "CONTENT");
  {
    const auto crashed = fs_.after_crash();
    EXPECT_EQ(crashed->content(value_of(crashed->find(".snapshots/s/f"))), "content");
    EXPECT_EQ(crashed->content(value_of(crashed->find("f"))), "content");
  }
  ASSERT_TRUE(ok(fs_->delete_snapshot("s")));
  const auto crashed = fs_.after_crash();
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, crashed->find(".snapshots/s")));
}

TEST(SnapshotsOnAFullDisk, AreNotMadeAndNothingOfThemIsLeft) {
  FaultyFilesystem faulty;
  TestFilesystem& fs = faulty.fs;
  const InodeNumber file = fs.make_file(kRootInode, "f", random_text(20'000, 1));
  faulty.fail("write", ErrorCode::kNoSpace);

  const auto failed = fs->create_snapshot("monday");
  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, failed));
  EXPECT_THAT(failed.error().message(), HasSubstr("'monday' could not be made"));
  EXPECT_THAT(fs->snapshots(), IsEmpty());
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs.find(".snapshots/monday")));

  faulty.fail("write", std::nullopt);
  fs.write(file, 0, "new");
  const std::string content = fs.content(file);
  ASSERT_TRUE(ok(fs->create_snapshot("monday")));
  EXPECT_EQ(fs->snapshots().size(), 1U);
  fs.write(file, 0, "later");
  EXPECT_TRUE(ok(fs->sync()));
  const std::unique_ptr<TestFilesystem> crashed = fs.after_crash();
  EXPECT_EQ(crashed->content(value_of(crashed->find(".snapshots/monday/f"))), content);
  EXPECT_EQ((*crashed)->snapshots().size(), 1U);
}

TEST_F(SnapshotsTest, CostNothingUntilSomethingChanges) {
  const InodeNumber directory = fs_.make_directory(kRootInode, "d");
  for (int i = 0; i < 100; ++i) fs_.make_file(directory, fmt::format("f{}", i), "content");
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  EXPECT_EQ(images(), 0U);
  const InodeNumber newer = fs_.make_directory(kRootInode, "newer");
  for (int i = 0; i < 100; ++i) fs_.make_file(newer, fmt::format("f{}", i), "content");
  EXPECT_EQ(images(), 3U);  // the root, and that it had no such entry, in both orders
}

TEST_F(SnapshotsTest, NothingIsLeftOfThoseThatWereDeleted) {
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

TEST_F(SnapshotsTest, ADeletionThatACrashInterruptsIsFinished) {
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

TEST_F(SnapshotsTest, FilesCanBeCopiedOutByReference) {
  const std::string content = random_text(200'000, 1);
  const InodeNumber file = fs_.make_file(kRootInode, "f", content);
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  EXPECT_TRUE(ok(fs_->set_attributes(file, {.size = 0}, {})));
  const InodeNumber copy = fs_.make_file(kRootInode, "copy");
  EXPECT_EQ(value_of(fs_->copy_range(in_snapshot("s", "f"), 0, copy, 0, content.size())), content.size());
  ASSERT_TRUE(ok(fs_->delete_snapshot("s")));
  ASSERT_TRUE(cleaned_up());
  fs_.reopen();
  EXPECT_EQ(fs_.content(value_of(fs_.find("copy"))), content);
}

TEST_F(SnapshotsTest, RollingBackMakesEverythingWhatItWas) {
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

TEST_F(SnapshotsTest, RollingBackKeepsTheOtherSnapshots) {
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

TEST_F(SnapshotsTest, RollingBackIsRefusedWhileAFileIsOpen) {
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

TEST_F(SnapshotsTest, RollingBackDoesNotWaitForDeletionsInTheBackground) {
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

TEST_F(SnapshotsTest, WhatWasUnlinkedWhenItWasMadeIsGoneAfterARollback) {
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
