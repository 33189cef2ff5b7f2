// Copies of trees by reference, without a mount.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/faulty_filesystem.h"
#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;

class ClonesTest : public testing::Test {
 protected:
  void SetUp() override {
    tree_ = fs_.make_directory(kRootInode, "tree");
    const InodeNumber below = fs_.make_directory(tree_, "below", 0750);
    file_ = fs_.make_file(below, "file", content_, 0640);
    EXPECT_TRUE(ok(fs_->set_xattr(file_, "user.note", "value", Filesystem::XattrMode::kSet)));
    EXPECT_TRUE(ok(fs_->make_link(file_, tree_, "link")));
    EXPECT_TRUE(ok(fs_->make_symlink(tree_, "symlink", "below/file", {})));
    EXPECT_TRUE(ok(fs_->make_node(tree_, "fifo", S_IFIFO | 0600, 0, {})));
    EXPECT_TRUE(ok(fs_->set_attributes(file_, {.uid = 1000, .gid = 1001, .mtime = Timestamp{1'000'000'000, 5}}, {})));
  }

  void expect_same_tree(InodeNumber copy) {
    const auto in_copy = [&](std::string_view name) { return value_of(fs_->lookup(copy, name)); };
    EXPECT_THAT(fs_.names(copy), ElementsAre(".", "..", "below", "link", "symlink", "fifo"));
    const Attributes link = in_copy("link");
    const Attributes original = fs_.attributes(file_);
    EXPECT_NE(link.inode, file_);
    EXPECT_EQ(link.links, 2U);
    EXPECT_EQ(value_of(fs_->lookup(in_copy("below").inode, "file")).inode, link.inode);
    EXPECT_EQ(link.mode, original.mode);
    EXPECT_EQ(link.uid, 1000U);
    EXPECT_EQ(link.gid, 1001U);
    EXPECT_EQ(link.mtime, original.mtime);
    EXPECT_EQ(link.size, original.size);
    EXPECT_EQ(fs_.content(link.inode), content_);
    EXPECT_EQ(value_of(fs_->get_xattr(link.inode, "user.note")), "value");
    EXPECT_EQ(in_copy("below").mode, S_IFDIR | 0750U);
    EXPECT_EQ(value_of(fs_->read_symlink(in_copy("symlink").inode)), "below/file");
    EXPECT_TRUE(S_ISFIFO(in_copy("fifo").mode));
    EXPECT_EQ(fs_.attributes(copy).links, 3U);
  }

  TestFilesystem fs_;
  const std::string content_ = random_text(150'000, 1);
  InodeNumber tree_ = 0;
  InodeNumber file_ = 0;
};

TEST_F(ClonesTest, HaveEverythingThatTheOriginalHas) {
  for (const bool stored : {false, true}) {
    if (stored) fs_.reopen();
    const std::string name = fmt::format("copy{}", stored ? 1 : 0);
    const CloneTotals totals = value_of(fs_->clone_tree(tree_, kRootInode, name));
    EXPECT_EQ(totals.files, 1U);
    EXPECT_EQ(totals.directories, 2U);
    EXPECT_EQ(totals.others, 2U);
    EXPECT_EQ(totals.bytes, content_.size());
    expect_same_tree(value_of(fs_.find(name)));
  }
  fs_.reopen();
  expect_same_tree(value_of(fs_.find("copy0")));
  expect_same_tree(value_of(fs_.find("copy1")));
}

TEST_F(ClonesTest, TellHowManyEntriesThereAreAndAreCopied) {
  constexpr std::uint64_t kFiles = 600;
  const InodeNumber many = fs_.make_directory(tree_, "many");
  for (std::uint64_t i = 0; i < kFiles; ++i) fs_->forget(fs_.make_file(many, std::to_string(i)), 1);
  JobMeter meter;
  std::vector<std::uint64_t> seen;

  value_of(fs_->clone_tree(tree_, kRootInode, "copy", &meter, [&] { seen.push_back(meter.done()); }));

  EXPECT_THAT(seen, ElementsAre(256U, 512U));
  EXPECT_EQ(meter.total(), kFiles + 7) << "the tree, below, file, link, symlink, fifo, many";
}

TEST_F(ClonesTest, StoreNoContent) {
  EXPECT_TRUE(ok(fs_->sync()));
  const auto stored = [&] {
    EXPECT_TRUE(ok(fs_->sync()));
    std::uint64_t bytes = 0;
    for (const auto& container : value_of(fs_->volume().containers().list())) bytes += container.bytes;
    return bytes;
  };
  const std::uint64_t before = stored();
  value_of(fs_->clone_tree(tree_, kRootInode, "copy"));
  EXPECT_EQ(stored(), before);
}

TEST_F(ClonesTest, GoTheirOwnWay) {
  value_of(fs_->clone_tree(tree_, kRootInode, "copy"));
  const InodeNumber copy = value_of(fs_.find("copy/link"));
  fs_.write(copy, 0, "changed");
  EXPECT_EQ(fs_.content(file_), content_);
  EXPECT_TRUE(ok(fs_->set_attributes(file_, {.size = 10}, {})));
  EXPECT_EQ(fs_.content(copy), "changed" + content_.substr(7));
}

TEST_F(ClonesTest, AreMadeOfSnapshotsToo) {
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  fs_.write(file_, 0, "changed");
  value_of(fs_->clone_tree(value_of(fs_.find(".snapshots/s/tree")), kRootInode, "restored"));
  EXPECT_EQ(fs_.content(value_of(fs_.find("restored/link"))), content_);
  value_of(fs_->clone_tree(value_of(fs_.find(".snapshots/s")), kRootInode, "all"));
  EXPECT_THAT(fs_.names(value_of(fs_.find("all"))), ElementsAre(".", "..", "tree"));
  EXPECT_EQ(fs_.content(value_of(fs_.find("all/tree/below/file"))), content_);
}

TEST_F(ClonesTest, OfAFileAreFilesThatMayEndInAHole) {
  const InodeNumber sparse = fs_.make_file(kRootInode, "sparse", "head");
  EXPECT_TRUE(ok(fs_->set_attributes(sparse, {.size = 1'000'000}, {})));
  value_of(fs_->clone_tree(sparse, tree_, "copy"));
  const InodeNumber copy = value_of(fs_.find("tree/copy"));
  EXPECT_EQ(fs_.attributes(copy).size, 1'000'000U);
  EXPECT_EQ(fs_.content(copy), "head" + std::string(1'000'000 - 4, '\0'));
}

TEST_F(ClonesTest, AreRefusedWhereTheyCannotBe) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs_->clone_tree(tree_, tree_, "x")));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs_->clone_tree(tree_, value_of(fs_.find("tree/below")), "x")));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs_->clone_tree(kSnapshotsInode, kRootInode, "x")));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs_->clone_tree(file_, tree_, "link")));
  EXPECT_TRUE(fails_with(ErrorCode::kExists, fs_->clone_tree(file_, kRootInode, ".snapshots")));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs_->clone_tree(file_, tree_, "a/b")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotDirectory, fs_->clone_tree(tree_, file_, "x")));
  EXPECT_TRUE(fails_with(ErrorCode::kStale, fs_->clone_tree(9999, tree_, "x")));
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs_->clone_tree(file_, value_of(fs_.find(".snapshots/s")), "x")));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, fs_->clone_tree(file_, kSnapshotsInode, "x")));
}

// Its content is in memory, and has to be stored before another file can refer to it. That the disk is full is known since another
// file could not be stored.
TEST(Clones, OfAFileThatCannotBeClonedNothingStays) {
  const std::string content = random_text(3 << 20, 1);
  FaultyFilesystem faulty;
  TestFilesystem& fs = faulty.fs;
  faulty.fail("open", ErrorCode::kNoSpace);
  fs.make_file(kRootInode, "before", random_text(3 << 20, 2));
  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, fs->sync()));
  const InodeNumber file = fs.make_file(kRootInode, "file", content);
  const Attributes before = fs.attributes(kRootInode);

  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, fs->clone_tree(file, kRootInode, "copy")));

  EXPECT_THAT(fs.names(kRootInode), ElementsAre(".", "..", "before", "file"));
  EXPECT_EQ(fs.attributes(kRootInode).mtime, before.mtime);
  faulty.fail("open", std::nullopt);
  EXPECT_TRUE(ok(fs->clone_tree(file, kRootInode, "copy")));
  EXPECT_EQ(fs.content(value_of(fs->lookup(kRootInode, "copy")).inode), content);
}

}  // namespace
}  // namespace dedupfs
