#include "fs/snapshots/snapshots.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fs/faulty_filesystem.h"
#include "fs/test_filesystem.h"
#include "snapshots_of_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct SnapshotsTest : SnapshotsOfFilesystem {};

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

// ---------------------------------------------------------------- with a judge

TEST_F(SnapshotsTest, OneThatIsRefusedIsSeenByNobodyAndLeavesItsNameFree) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", "old");
  ASSERT_TRUE(ok(fs_->create_snapshot("before")));
  fs_.write(file, 0, "new");

  const auto made = fs_->create_snapshot("s", std::nullopt, [&](const SnapshotRecord& snapshot) -> Result<void> {
    EXPECT_EQ(snapshot.name, "s");
    EXPECT_EQ(fs_->snapshots().size(), 1u);
    EXPECT_THAT(fs_.names(kSnapshotsInode), ElementsAre(".", "..", "before"));
    return Error{ErrorCode::kBusy, "no"};
  });

  EXPECT_TRUE(fails_with(ErrorCode::kBusy, made));
  EXPECT_EQ(fs_->snapshots().size(), 1u);
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  fs_.reopen();
  EXPECT_EQ(fs_.content(in_snapshot("before", "f")), "old") << "what was preserved for it goes through the other one";
  EXPECT_EQ(fs_.content(in_snapshot("s", "f")), "new");
}

TEST_F(SnapshotsTest, OneThatIsTakenHasWhatWasThereBeforeItWasJudged) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", "old");
  ASSERT_TRUE(ok(fs_->create_snapshot("s", std::nullopt, [&](const SnapshotRecord&) {
    fs_.write(file, 0, "new");
    return Result<void>();
  })));
  for (const bool reopened : {false, true}) {
    if (reopened) fs_.reopen();
    EXPECT_EQ(fs_.content(in_snapshot("s", "f")), "old");
  }
}

TEST_F(SnapshotsTest, OneWhoseNameIsTakenMeanwhileIsRefused) {
  const auto made =
      fs_->create_snapshot("s", std::nullopt, [&](const SnapshotRecord&) { return fs_->create_snapshot("s"); });
  EXPECT_TRUE(fails_with(ErrorCode::kExists, made));
  EXPECT_EQ(fs_->snapshots().size(), 1u);
}

TEST_F(SnapshotsTest, OneThatACrashLeavesUnjudgedIsGone) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", "old");
  ASSERT_TRUE(ok(fs_->create_snapshot("before")));
  std::unique_ptr<TestFilesystem> crashed;
  ASSERT_TRUE(ok(fs_->create_snapshot("s", std::nullopt, [&](const SnapshotRecord&) {
    fs_.write(file, 0, "new");
    EXPECT_TRUE(ok(fs_->sync()));
    crashed = fs_.after_crash();
    return Result<void>();
  })));

  ASSERT_EQ((*crashed)->snapshots().size(), 1u);
  EXPECT_EQ(crashed->content(value_of(crashed->find(".snapshots/before/f"))), "old");
  EXPECT_TRUE(ok((*crashed)->create_snapshot("s")));
}

TEST_F(SnapshotsTest, EachHasAUuidOfItsOwn) {
  ASSERT_TRUE(ok(fs_->create_snapshot("1", 5)));
  ASSERT_TRUE(ok(fs_->create_snapshot("2", 5)));
  const auto before = fs_->snapshots();
  EXPECT_NE(before.at(0).uuid, before.at(1).uuid);
  EXPECT_NE(before.at(0).uuid, uuid_without(before.at(0).number, 5));
  fs_.reopen();
  EXPECT_EQ(fs_->snapshots(), before);
  EXPECT_THAT(fs_->volume().superblock().incompatible_features, testing::Contains("snapshot_uuids"));
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

}  // namespace
}  // namespace dedupfs
