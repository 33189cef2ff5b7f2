// What fsck finds of snapshots, and what a repair keeps of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/check/fsck.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "fs/test_filesystem.h"
#include "index/counters.h"
#include "store/metadata/before_images.h"
#include "support/folder_at.h"

namespace dedupfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SnapshotRepairTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = fs_.make_file(kRootInode, "f", std::string(20'000, 'a'));
    fs_->forget(file_, 1);
    ASSERT_TRUE(ok(fs_->create_snapshot("old")));  // 1
    fs_.write(file_, 0, std::string(20'000, 'b'));
    ASSERT_TRUE(ok(fs_->create_snapshot("new")));  // 2
    fs_.write(file_, 0, std::string(20'000, 'c'));
    fs_.close();
  }

  template <class Change>
  void change_index(const Change& change) {
    const auto database = value_of(Database::open(folder_at(fs_.path() / kIndexDirectory), {}));
    Database::Batch batch(*database);
    change(*database, batch);
    ASSERT_TRUE(ok(database->write(batch)));
  }
  static std::string image_of(TreeNumber number, InodeNumber inode) {
    return encode_before_image_key(Family::kRecipes, encode_recipe_key(inode, 0), number);
  }
  FsckReport fsck(FsckOptions::Mode mode) { return value_of(run_fsck(fs_.path(), {.mode = mode})); }
  std::vector<std::string> findings() {
    std::vector<std::string> lines;
    for (const std::string& line : fsck(FsckOptions::Mode::kCheck).lines) lines.push_back(line);
    return lines;
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const SnapshotRecord& snapshot : fs_->snapshots()) names.push_back(snapshot.name);
    return names;
  }
  char first_byte(const std::string& path) { return fs_.read(value_of(fs_.find(path)), 0, 1).at(0); }

  TestFilesystem fs_;
  InodeNumber file_ = 0;
};

TEST_F(SnapshotRepairTest, SoundOnesAreClean) {
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(SnapshotRepairTest, ARepairForAnotherReasonKeepsThem) {
  change_index(
      [&](Database&, Database::Batch& batch) { batch.put(Family::kCounters, kInodesCounter, encode_counter(99)); });
  EXPECT_EQ(fsck(FsckOptions::Mode::kSafe).exit_status(), kFsckCorrected);
  EXPECT_THAT(findings(), IsEmpty());
  fs_.open();
  EXPECT_THAT(names(), ElementsAre("old", "new"));
  EXPECT_EQ(first_byte(".snapshots/old/f"), 'a');
  EXPECT_EQ(first_byte(".snapshots/new/f"), 'b');
  EXPECT_EQ(first_byte("f"), 'c');
  ASSERT_TRUE(ok(fs_->create_snapshot("newest")));
  EXPECT_EQ(fs_->snapshots().back().number, 3U);
}

TEST_F(SnapshotRepairTest, OnlySnapshotsThatNeedADamagedImageAreGivenUp) {
  change_index([&](Database&, Database::Batch& batch) { batch.put(Family::kBeforeImages, image_of(1, file_), "\2"); });
  EXPECT_THAT(findings(), Contains(HasSubstr("snapshot 1: a before-image is damaged")));
  const FsckReport safe = fsck(FsckOptions::Mode::kSafe);
  EXPECT_NE(safe.errors_left, 0U) << "something would be lost";
  const FsckReport repair = fsck(FsckOptions::Mode::kAll);
  EXPECT_THAT(repair.lines, Contains(HasSubstr("lost: snapshot 'old'")));
  EXPECT_THAT(findings(), testing::Not(Contains(HasSubstr("error"))));
  fs_.open();
  EXPECT_THAT(names(), ElementsAre("new"));
  EXPECT_EQ(first_byte(".snapshots/new/f"), 'b');
  EXPECT_EQ(first_byte("f"), 'c');
}

TEST_F(SnapshotRepairTest, ImagesOfNoSnapshotAreFoundAndTakenApart) {
  change_index([&](Database&, Database::Batch& batch) { batch.erase(Family::kSnapshots, encode_snapshot_key(2)); });
  EXPECT_THAT(findings(), Contains(HasSubstr("before-images of snapshot 2, which has no record")));
  EXPECT_EQ(fsck(FsckOptions::Mode::kAll).errors_left, 0U);
  fs_.open();
  EXPECT_THAT(names(), ElementsAre("old"));
  EXPECT_EQ(first_byte(".snapshots/old/f"), 'a');
  for (int i = 0; i < 500 && !fs_->volume().snapshots().deleted().empty(); ++i) {
    EXPECT_TRUE(ok(fs_->sync()));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(fs_->volume().snapshots().deleted().empty());
  EXPECT_EQ(first_byte(".snapshots/old/f"), 'a');
}

TEST_F(SnapshotRepairTest, ANumberThatWouldBeGivenAwayAgainIsAnError) {
  change_index(
      [&](Database&, Database::Batch& batch) { batch.put(Family::kCounters, kNextSnapshotCounter, encode_number(2)); });
  EXPECT_THAT(findings(), Contains(HasSubstr("snapshot 2 exists, but the next number is 2")));
  EXPECT_EQ(fsck(FsckOptions::Mode::kSafe).errors_left, 0U);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(SnapshotRepairTest, ContentThatASnapshotHasLostIsNamed) {
  change_index([&](Database& database, Database::Batch& batch) {
    const auto image =
        value_of(decode_before_image(value_of(database.get(Family::kBeforeImages, image_of(2, file_))).value()));
    auto entries = value_of(decode_segment(image.value()));
    entries[0].chunk = ChunkId{77'777};
    batch.put(Family::kBeforeImages, image_of(2, file_), encode_before_image(encode_segment(entries)));
  });
  const FsckReport report = fsck(FsckOptions::Mode::kCheck);
  ASSERT_EQ(report.lost_files.size(), 1U);
  EXPECT_THAT(report.lost_files[0].paths, ElementsAre(HasSubstr("/.snapshots/new/#")));
  fs_.open();
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, fs_->read(value_of(fs_.find(".snapshots/new/f")), 0, 1)));
  EXPECT_EQ(first_byte(".snapshots/old/f"), 'a');
}

// Snapshots know nothing of lost+found, and whoever goes back to one finds no name that leads nowhere.
TEST_F(SnapshotRepairTest, TheySeeNothingOfLostAndFound) {
  change_index([&](Database& database, Database::Batch& batch) {
    const std::string key = encode_dirent_key(kRootInode, "f");
    const auto dirent = value_of(decode_dirent(kRootInode, value_of(database.get(Family::kDirents, key)).value()));
    batch.erase(Family::kDirents, key);
    batch.erase(Family::kCookies, encode_cookie_key(kRootInode, dirent.cookie));
  });
  EXPECT_EQ(fsck(FsckOptions::Mode::kAll).errors_left, 0U);
  EXPECT_EQ(fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
  fs_.open();
  EXPECT_TRUE(ok(fs_.find(fmt::format("lost+found/#{}", file_))));
  for (const std::string snapshot : {".snapshots/old", ".snapshots/new"}) {
    EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs_.find(snapshot + "/lost+found")));
    const InodeNumber root = value_of(fs_.find(snapshot));
    EXPECT_EQ(value_of(fs_->attributes(root)).links, 2U);
    EXPECT_EQ(value_of(fs_->attributes(root)).size, 0U);
  }
  ASSERT_TRUE(ok(fs_->roll_back("new")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs_.find("lost+found")));
  fs_.close();
  EXPECT_EQ(fsck(FsckOptions::Mode::kAll).errors_left, 0U);
  fs_.open();
  EXPECT_TRUE(ok(fs_.find(fmt::format("lost+found/#{}", file_)))) << "no name led to the file then either";
  fs_.close();
  EXPECT_EQ(fsck(FsckOptions::Mode::kCheck).errors_left, 0U);
}

// The first repair has made it, a snapshot has it, and the second repair adds to it.
TEST_F(SnapshotRepairTest, TheySeeLostAndFoundAsItWasThen) {
  const auto lose = [&](const std::string& name) {
    change_index([&](Database& database, Database::Batch& batch) {
      const std::string key = encode_dirent_key(kRootInode, name);
      const auto dirent = value_of(decode_dirent(kRootInode, value_of(database.get(Family::kDirents, key)).value()));
      batch.erase(Family::kDirents, key);
      batch.erase(Family::kCookies, encode_cookie_key(kRootInode, dirent.cookie));
    });
    EXPECT_EQ(fsck(FsckOptions::Mode::kAll).errors_left, 0U);
  };
  lose("f");
  fs_.open();
  const InodeNumber other = fs_.make_file(kRootInode, "other", "other");
  fs_->forget(other, 1);
  ASSERT_TRUE(ok(fs_->create_snapshot("newest")));
  fs_.close();
  lose("other");
  fs_.open();
  const std::string name = fmt::format("lost+found/#{}", other);
  EXPECT_TRUE(ok(fs_.find(name)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs_.find(".snapshots/newest/" + name)));
  EXPECT_TRUE(ok(fs_.find(fmt::format(".snapshots/newest/lost+found/#{}", file_))));
  ASSERT_TRUE(ok(fs_->roll_back("newest")));
  EXPECT_TRUE(ok(fs_.find(fmt::format("lost+found/#{}", file_))));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs_.find(name)));
}

TEST_F(SnapshotRepairTest, TheyComeBackFromACheckpoint) {
  {
    const auto database = value_of(Database::open(folder_at(fs_.path() / kIndexDirectory), {}));
    const auto superblock = value_of(read_superblock(*folder_at(fs_.path())));
    const Checkpoints checkpoints(folder_at(fs_.path()), value_of(parse_uuid(superblock.uuid)));
    ASSERT_TRUE(ok(checkpoints.write(*database, [](std::uint64_t) { return true; })));
  }
  std::filesystem::remove_all(fs_.path() / kIndexDirectory);
  EXPECT_EQ(fsck(FsckOptions::Mode::kAll).errors_left, 0U);
  fs_.open();
  EXPECT_THAT(names(), ElementsAre("old", "new"));
  EXPECT_EQ(first_byte(".snapshots/old/f"), 'a');
  EXPECT_EQ(first_byte(".snapshots/new/f"), 'b');
}

}  // namespace
}  // namespace dedupfs
