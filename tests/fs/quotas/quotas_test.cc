#include "fs/quotas/quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fs/check/fsck.h"
#include "fs/format/records.h"
#include "fs/test_filesystem.h"
#include "index/database.h"
#include "support/faulty_backing.h"

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using RenameMode = Filesystem::RenameMode;

constexpr std::uint64_t kMiB = 1 << 20;

struct QuotasTest : testing::Test {
  TestFilesystem fs_;

  InodeNumber tree_ = fs_.make_directory(kRootInode, "tree");

  void limit(InodeNumber directory, std::uint64_t logical_bytes) {
    ASSERT_TRUE(ok(fs_->set_quota(directory, {.logical_bytes = logical_bytes})));
  }
  QuotaStatus status() { return fs_->quotas().at(0); }
  Result<void> write(InodeNumber inode, std::uint64_t offset, const std::string& content) {
    return fs_->write(inode, offset, bytes_of(content), {}, nullptr);
  }
  void forget(InodeNumber inode) { fs_->forget(inode, 1); }
  // The sum of the tree as a walk finds it, each inode once.
  std::pair<std::uint64_t, std::uint64_t> walk(InodeNumber directory) {
    std::map<InodeNumber, std::uint64_t> found;
    std::vector<InodeNumber> directories = {directory};
    found[directory] = 0;
    while (!directories.empty()) {
      const InodeNumber next = directories.back();
      directories.pop_back();
      for (const DirectoryEntry& entry : fs_.list(next, 2)) {
        found[entry.attributes.inode] = fs_.attributes(entry.attributes.inode).data_bytes;
        if (is_directory(entry.attributes.mode)) directories.push_back(entry.attributes.inode);
      }
    }
    std::uint64_t bytes = 0;
    for (const auto& [inode, data] : found) bytes += data;
    return {bytes, found.size()};
  }
  std::pair<std::uint64_t, std::uint64_t> sums() {
    const QuotaStatus now = status();
    return {now.logical_bytes, now.files};
  }
  bool files_become(std::uint64_t count) {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
      if (status().files == count) return true;
    return false;
  }
  InodeRecord record_of(InodeNumber inode) {
    const auto value = value_of(fs_->volume().metadata().get(Family::kInodes, encode_inode_key(inode)));
    return value_of(decode_inode(inode, value.value()));
  }
  FsckReport fsck() {
    FsckOptions options;
    options.mode = FsckOptions::Mode::kCheck;
    return value_of(run_fsck(fs_.path(), options));
  }
};

TEST_F(QuotasTest, AWriteThatExceedsTheLimitFailsAndOthersGoOn) {
  limit(tree_, kMiB);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(900'000, 1));

  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, write(file, 900'000, random_text(200'000, 2))));
  EXPECT_EQ(fs_.attributes(file).size, 900'000u);
  EXPECT_TRUE(ok(write(file, 900'000, random_text(100'000, 3))));
  EXPECT_TRUE(ok(write(fs_.make_file(kRootInode, "outside"), 0, random_text(2 * kMiB, 4))));
  EXPECT_EQ(sums(), (std::pair<std::uint64_t, std::uint64_t>(1'000'000, 2)));
}

TEST_F(QuotasTest, DataThatWaitInMemoryAreChargedWhenTheyAreWritten) {
  limit(tree_, 100'000);
  const InodeNumber file = fs_.make_file(tree_, "f");
  for (unsigned i = 0; i < 10; ++i) ASSERT_TRUE(ok(write(file, 10'000 * i, random_text(10'000, i))));

  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, write(file, 100'000, "x")));
  EXPECT_TRUE(ok(fs_->sync()));
  EXPECT_EQ(status().logical_bytes, 100'000u);
}

TEST_F(QuotasTest, AnOverwriteAddsNothingAndHolesDoNotCount) {
  limit(tree_, 100'000);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(100'000, 1));
  EXPECT_TRUE(ok(write(file, 20'000, random_text(50'000, 2))));

  const InodeNumber sparse = fs_.make_file(tree_, "sparse");
  EXPECT_TRUE(ok(fs_->set_attributes(sparse, {.size = 10 * kMiB}, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, write(sparse, kMiB, "x")));
  EXPECT_TRUE(ok(fs_->set_attributes(file, {.size = 50'000}, {})));
  EXPECT_TRUE(ok(write(sparse, kMiB, random_text(50'000, 3))));
  // Data of a sparse file are replaced: near the limit, too.
  EXPECT_TRUE(ok(write(sparse, kMiB, random_text(50'000, 4))));
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, write(sparse, kMiB + 1, random_text(50'000, 5))));
  EXPECT_TRUE(ok(fs_->sync()));
  EXPECT_EQ(status().logical_bytes, 100'000u);
}

TEST_F(QuotasTest, HolesAndAllocationsFollowDu) {
  limit(tree_, 100'000);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(80'000, 1));
  EXPECT_TRUE(
      fails_with(ErrorCode::kQuotaExceeded, fs_->allocate(file, 0, 200'000, Filesystem::AllocateMode::kExtend)));
  EXPECT_TRUE(ok(fs_->allocate(file, 10'000, 40'000, AllocateMode::kPunchHole)));
  EXPECT_TRUE(ok(write(fs_.make_file(tree_, "g"), 0, random_text(50'000, 2))));
  EXPECT_TRUE(ok(fs_->sync()));
  EXPECT_EQ(sums(), walk(tree_));
}

TEST_F(QuotasTest, ATreeWithContentIsCountedAtOnce) {
  const InodeNumber below = fs_.make_directory(tree_, "below");
  const InodeNumber file = fs_.make_file(below, "f", random_text(70'000, 1));
  EXPECT_TRUE(ok(fs_->make_link(file, tree_, "second name")));
  fs_.make_file(kRootInode, "outside", random_text(70'000, 2));
  limit(tree_, 50'000);

  EXPECT_EQ(sums(), (std::pair<std::uint64_t, std::uint64_t>(70'000, 3)));
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, write(file, 70'000, "x"))) << "the limit is lower than the use";
  EXPECT_TRUE(ok(write(file, 0, "x")));
}

// Inodes leave the memory while a large tree is counted.
TEST_F(QuotasTest, TellsHowManyNamesATreeHasAndAreCounted) {
  constexpr std::uint64_t kFiles = 600;
  for (std::uint64_t i = 0; i < kFiles; ++i) forget(fs_.make_file(tree_, std::to_string(i)));
  JobMeter meter;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;

  ASSERT_TRUE(ok(fs_->set_quota(
      tree_, {.files = 1000},
      [&] {
        seen.emplace_back(meter.done(), meter.total());
        return Result<void>();
      },
      &meter)));

  const auto pair = [](std::uint64_t done, std::uint64_t total) { return std::pair(done, total); };
  EXPECT_THAT(seen, testing::ElementsAre(pair(256, 0), pair(512, 0), pair(256, kFiles + 1), pair(512, kFiles + 1)));
}

TEST_F(QuotasTest, AFileWithTwoNamesInALargeTreeCountsOnce) {
  const InodeNumber first = fs_.make_directory(tree_, "first");
  const InodeNumber others = fs_.make_directory(tree_, "others");
  const InodeNumber last = fs_.make_directory(tree_, "last");
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(ok(fs_->make_link(fs_.make_file(first, std::to_string(i), "content"), last, std::to_string(i))));
  for (int i = 0; i < 20'000; ++i) forget(fs_.make_file(others, std::to_string(i)));
  ASSERT_TRUE(ok(fs_->sync()));
  limit(tree_, kMiB);

  EXPECT_EQ(status().files, 4u + 100 + 20'000);
}

TEST_F(QuotasTest, HolesThatWaitAreForgottenWithTheContent) {
  limit(tree_, 4 * kMiB);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(2 * kMiB, 1));
  ASSERT_TRUE(ok(fs_->sync()));
  for (std::uint64_t offset = 0; offset < 2 * kMiB; offset += kMiB / 2)
    ASSERT_TRUE(ok(fs_->allocate(file, offset, kMiB / 2, AllocateMode::kPunchHole, {})));
  ASSERT_TRUE(ok(fs_->set_attributes(file, {.size = 0}, {})));
  ASSERT_TRUE(ok(write(file, 0, random_text(3 * kMiB, 2))));

  EXPECT_EQ(status().logical_bytes, 3 * kMiB);
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, write(file, 3 * kMiB, random_text(2 * kMiB, 3))));
}

TEST_F(QuotasTest, AFileThatLosesItsNameInTheTreeStaysSound) {
  const InodeNumber file = fs_.make_file(tree_, "inside", random_text(50'000, 1));
  EXPECT_TRUE(ok(fs_->make_link(file, kRootInode, "outside")));
  limit(tree_, kMiB);
  ASSERT_TRUE(ok(fs_->unlink(tree_, "inside")));

  EXPECT_EQ(sums(), (std::pair<std::uint64_t, std::uint64_t>(50'000, 2)));
  fs_.close();
  EXPECT_TRUE(fsck().is_clean()) << testing::PrintToString(fsck().lines);
  fs_.open();
}

// When the first quota ended, nothing would count it any more, though it is in the second tree.
TEST_F(QuotasTest, ATreeWithAFileOfAnotherTreeGetsNoQuota) {
  const InodeNumber other = fs_.make_directory(kRootInode, "other");
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(50'000, 1));
  ASSERT_TRUE(ok(fs_->make_link(file, other, "second name")));
  limit(tree_, kMiB);
  const auto refused = fs_->set_quota(other, {.logical_bytes = kMiB});
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, refused));
  EXPECT_THAT(refused.error().message(), HasSubstr("'second name' in directory " + std::to_string(other)));
  EXPECT_THAT(refused.error().message(), HasSubstr("put a copy in its place"));
  EXPECT_THAT(fs_->quotas(), SizeIs(1));

  ASSERT_TRUE(ok(fs_->clone_tree(file, other, "copy")));
  ASSERT_TRUE(ok(fs_->rename(other, "copy", other, "second name", RenameMode::kReplace)));
  EXPECT_TRUE(ok(fs_->set_quota(other, {.logical_bytes = kMiB})));
  ASSERT_TRUE(ok(fs_->remove_quota(tree_)));
  fs_.close();
  EXPECT_TRUE(fsck().is_clean()) << testing::PrintToString(fsck().lines);
  fs_.open();
}

// A repair may leave such files.
TEST_F(QuotasTest, AFileInTwoTreesIsNoDamage) {
  const InodeNumber other = fs_.make_directory(kRootInode, "other");
  limit(tree_, kMiB);
  limit(other, kMiB);
  const InodeNumber file = fs_.make_file(other, "f");
  ASSERT_TRUE(ok(fs_->sync()));
  InodeRecord record = record_of(file);
  record.quota = record_of(tree_).quota;
  fs_.close();
  {
    const auto volume = value_of(Volume::open(fs_.path(), {}));
    QuotaRecords quotas =
        value_of(decode_quotas(value_of(volume->database().get(Family::kCounters, kQuotasCounter)).value()));
    ++quotas.quotas.begin()->second.files;
    --quotas.quotas.rbegin()->second.files;
    Database::Batch batch(volume->database());
    batch.put(Family::kInodes, encode_inode_key(file), encode_inode(record));
    batch.put(Family::kCounters, std::string(kQuotasCounter), encode_quotas(quotas));
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }
  const FsckReport report = fsck();
  EXPECT_TRUE(report.is_clean()) << testing::PrintToString(report.lines);
  EXPECT_THAT(report.lines, Contains(AllOf(HasSubstr("note: inode " + std::to_string(file)), HasSubstr("put a copy"))));
  fs_.open();
}

TEST_F(QuotasTest, AFileMoreInAFullTreeOfBytesDoesNotWait) {
  limit(tree_, 1000);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(1000, 1));
  const InodeNumber open = fs_.make_file(kRootInode, "open");
  ASSERT_TRUE(ok(fs_->unlink(kRootInode, "open")));  // it is not deleted before it is closed
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(ok(write(file, 0, random_text(1000, 2))));
  forget(open);
}

TEST_F(QuotasTest, DeletedFilesGiveTheirRoomBack) {
  limit(tree_, 100'000);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(100'000, 1));
  ASSERT_TRUE(ok(fs_->open_file(file, false, {})));
  EXPECT_TRUE(ok(fs_->unlink(tree_, "f")));
  const InodeNumber next = fs_.make_file(tree_, "next");
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, write(next, 0, "x"))) << "an open file without a name counts";

  fs_->release_file(file, true);
  forget(file);
  EXPECT_TRUE(ok(write(next, 0, random_text(100'000, 2)))) << "the writer waits for the deletion";
}

TEST_F(QuotasTest, TheNumberOfFilesIsLimited) {
  ASSERT_TRUE(ok(fs_->set_quota(tree_, {.files = 3})));
  fs_.make_file(tree_, "1");
  const InodeNumber second = fs_.make_directory(tree_, "2");
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, fs_->create(tree_, "3", 0644, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, fs_->make_symlink(second, "3", "1", {})));
  EXPECT_TRUE(ok(fs_->make_link(value_of(fs_.find("tree/1")), tree_, "link")));
  forget(second);
  EXPECT_TRUE(ok(fs_->remove_directory(tree_, "2")));
  EXPECT_TRUE(ok(fs_->create(tree_, "3", 0644, {})));
}

TEST_F(QuotasTest, NamesDoNotGoFromTreeToTree) {
  const InodeNumber other = fs_.make_directory(kRootInode, "other");
  limit(tree_, kMiB);
  const InodeNumber inside = fs_.make_file(tree_, "inside");
  const InodeNumber outside = fs_.make_file(kRootInode, "outside");

  const auto rename = [&](InodeNumber from, const char* name, InodeNumber to, const char* new_name, RenameMode mode) {
    return fs_->rename(from, name, to, new_name, mode);
  };
  EXPECT_TRUE(fails_with(ErrorCode::kCrossesTrees, rename(tree_, "inside", other, "x", RenameMode::kReplace)));
  EXPECT_TRUE(fails_with(ErrorCode::kCrossesTrees, rename(kRootInode, "outside", tree_, "x", RenameMode::kReplace)));
  EXPECT_TRUE(
      fails_with(ErrorCode::kCrossesTrees, rename(kRootInode, "outside", tree_, "inside", RenameMode::kExchange)));
  EXPECT_TRUE(fails_with(ErrorCode::kCrossesTrees, fs_->make_link(inside, kRootInode, "link")));
  EXPECT_TRUE(fails_with(ErrorCode::kCrossesTrees, fs_->make_link(outside, tree_, "link")));
  EXPECT_TRUE(ok(rename(tree_, "inside", tree_, "renamed", RenameMode::kReplace)));
  EXPECT_TRUE(ok(rename(kRootInode, "tree", other, "moved tree", RenameMode::kReplace))) << "the tree as a whole";
  EXPECT_EQ(value_of(fs_->quota_paths()).size(), 1u);
}

TEST_F(QuotasTest, CopiesByReferenceAreCharged) {
  limit(tree_, 150'000);
  const InodeNumber source = fs_.make_file(kRootInode, "source", random_text(100'000, 1));
  ASSERT_TRUE(ok(fs_->clone_tree(source, tree_, "clone")));
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, fs_->clone_tree(source, tree_, "second")));
  const InodeNumber copy = fs_.make_file(tree_, "copy");
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, fs_->copy_range(source, 0, copy, 0, 100'000)));
  EXPECT_EQ(value_of(fs_->copy_range(source, 0, copy, 0, 50'000)), 50'000u);
  EXPECT_TRUE(ok(fs_->sync()));
  EXPECT_TRUE(files_become(3)) << status().files;
  EXPECT_EQ(sums(), walk(tree_));
}

TEST_F(QuotasTest, QuotasDoNotNest) {
  const InodeNumber below = fs_.make_directory(tree_, "below");
  limit(below, kMiB);
  const auto above = fs_->set_quota(tree_, {.logical_bytes = kMiB});
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, above));
  EXPECT_THAT(above.error().message(), HasSubstr("do not nest"));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument,
                         fs_->set_quota(fs_.make_directory(below, "deeper"), {.logical_bytes = kMiB})));
  EXPECT_THAT(fs_->quotas(), SizeIs(1));
  EXPECT_EQ(sums(), walk(below));
  EXPECT_TRUE(ok(fs_->create(tree_, "f", 0644, {}))) << "the refused quota left nothing behind";
  EXPECT_TRUE(
      fails_with(ErrorCode::kNotDirectory, fs_->set_quota(fs_.make_file(kRootInode, "file"), {.logical_bytes = 1})));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs_->set_quota(below, {})));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs_->remove_quota(tree_)));
}

TEST_F(QuotasTest, ARemovedQuotaHoldsNoMoreAndCanBeSetAgain) {
  limit(tree_, 1000);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(1000, 1));
  ASSERT_TRUE(ok(fs_->remove_quota(tree_)));
  EXPECT_TRUE(ok(write(file, 1000, random_text(1000, 2))));
  EXPECT_TRUE(ok(fs_->rename(tree_, "f", kRootInode, "f", RenameMode::kReplace)));
  EXPECT_TRUE(ok(fs_->rename(kRootInode, "f", tree_, "f", RenameMode::kReplace)));
  fs_.reopen();
  EXPECT_THAT(fs_->quotas(), IsEmpty());
  limit(tree_, 5000);
  EXPECT_EQ(sums(), (std::pair<std::uint64_t, std::uint64_t>(2000, 2)));
}

TEST_F(QuotasTest, LimitsChangeWithoutACount) {
  limit(tree_, 1000);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(1000, 1));
  limit(tree_, 2000);
  EXPECT_TRUE(ok(write(file, 1000, random_text(1000, 2))));
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, write(file, 2000, "x")));
}

TEST_F(QuotasTest, AQuotaGoesWithItsDirectory) {
  limit(tree_, 1000);
  EXPECT_TRUE(ok(fs_->remove_directory(kRootInode, "tree")));
  forget(tree_);
  for (int i = 0; i < 500 && !fs_->quotas().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(fs_->quotas(), IsEmpty());
}

TEST_F(QuotasTest, TheVolumeHasItsOwnSpaceAndTheTreeItsLimit) {
  ASSERT_TRUE(ok(fs_->set_quota(tree_, {.logical_bytes = kMiB, .files = 10})));
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(kMiB / 4, 1));
  for (const InodeNumber inode : {tree_, file}) {
    const TreeSpace space = value_of(fs_->space_of(inode));
    EXPECT_EQ(space.total_bytes, kMiB);
    EXPECT_EQ(space.free_bytes, kMiB * 3 / 4);
    EXPECT_EQ(space.inodes, 2u);
    EXPECT_EQ(space.free_inodes, 8u);
  }
  EXPECT_GT(value_of(fs_->space_of(kRootInode)).total_bytes, kMiB);
}

TEST_F(QuotasTest, SumsAreThoseOfTheCommitAfterACrash) {
  limit(tree_, kMiB);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(300'000, 1));
  ASSERT_TRUE(ok(fs_->sync()));
  const auto committed = sums();
  fs_.write(file, 300'000, random_text(300'000, 2));
  fs_.make_file(tree_, "lost");

  const auto crashed = fs_.after_crash();
  const QuotaStatus status = (*crashed)->quotas().at(0);
  EXPECT_EQ(std::pair(status.logical_bytes, status.files), committed);
  crashed->close();
  FsckOptions options;
  options.mode = FsckOptions::Mode::kCheck;
  EXPECT_TRUE(value_of(run_fsck(crashed->path(), options)).is_clean());
}

TEST_F(QuotasTest, ARollbackCountsWhatTheSnapshotHas) {
  limit(tree_, kMiB);
  fs_.make_file(tree_, "old", random_text(100'000, 1));
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  const auto then = sums();
  fs_.make_file(tree_, "new", random_text(200'000, 2));
  ASSERT_TRUE(ok(fs_->roll_back("s")));
  EXPECT_EQ(sums(), then);
  EXPECT_EQ(sums(), walk(tree_));
  fs_.close();
  EXPECT_TRUE(fsck().is_clean());
  fs_.open();
}

TEST_F(QuotasTest, ARollbackToATimeBeforeTheQuotaKeepsIt) {
  fs_.make_file(tree_, "old", random_text(100'000, 1));
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  limit(tree_, kMiB);
  const InodeNumber late = fs_.make_directory(kRootInode, "late");
  limit(late, kMiB);
  ASSERT_TRUE(ok(fs_->roll_back("s")));
  ASSERT_THAT(fs_->quotas(), SizeIs(1)) << "the other directory is gone";
  EXPECT_EQ(sums(), (std::pair<std::uint64_t, std::uint64_t>(100'000, 2)));
  fs_.close();
  EXPECT_TRUE(fsck().is_clean());
  fs_.open();
}

// The measurement is that of another tree.
TEST_F(QuotasTest, ARollbackOfAFullTreeMakesRoom) {
  ASSERT_TRUE(ok(fs_->set_quota(tree_, {.stored_bytes = 2 * kMiB})));
  ASSERT_TRUE(ok(fs_->create_snapshot("empty")));
  fs_.make_file(tree_, "f", random_text(2 * kMiB - 100'000, 1));
  ASSERT_TRUE(ok(fs_->measure_quotas([] { return Result<void>(); })));
  ASSERT_TRUE(ok(fs_->roll_back("empty")));

  EXPECT_TRUE(ok(write(fs_.make_file(tree_, "g"), 0, random_text(kMiB, 2))));
}

TEST_F(QuotasTest, NumbersInRecordsAreNotUsedAgainAfterTheRecordOfQuotasIsLost) {
  limit(tree_, kMiB);
  const InodeNumber other = fs_.make_directory(kRootInode, "other");
  ASSERT_TRUE(ok(fs_->sync()));
  fs_.close();
  {
    const auto volume = value_of(Volume::open(fs_.path(), {}));
    Database::Batch batch(volume->database());
    batch.put(Family::kCounters, std::string(kQuotasCounter), "\xff");
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }
  std::filesystem::remove_all(fs_.path() / "checkpoints");
  FsckOptions options;
  options.mode = FsckOptions::Mode::kAll;
  EXPECT_EQ(value_of(run_fsck(fs_.path(), options)).errors_left, 0u);
  fs_.open();
  limit(other, kMiB);
  EXPECT_EQ(sums(), (std::pair<std::uint64_t, std::uint64_t>(0, 1)));
  limit(tree_, kMiB);
}

TEST_F(QuotasTest, StoredBytesAreMeasuredWhereTheLimitSeemsToBeReached) {
  const std::string content = random_text(kMiB, 1);
  fs_.make_file(tree_, "1", content);
  ASSERT_TRUE(ok(fs_->set_quota(tree_, {.stored_bytes = 3 * kMiB})));
  EXPECT_GT(status().stored_bytes, kMiB);
  EXPECT_LT(status().stored_bytes, kMiB + kMiB / 10);
  for (int i = 2; i < 8; ++i) fs_.make_file(tree_, std::to_string(i), content);
  EXPECT_LT(status().stored_bytes, kMiB + kMiB / 10) << "copies store nothing";

  const InodeNumber file = fs_.make_file(tree_, "different", random_text(kMiB, 2));
  EXPECT_TRUE(fails_with(ErrorCode::kQuotaExceeded, write(file, kMiB, random_text(2 * kMiB, 3))));
  EXPECT_GT(status().stored_bytes + status().unmeasured_bytes, 2 * kMiB);
}

// A measurement may take minutes. Who waits for it can be killed, and the mount can end.
TEST_F(QuotasTest, AMeasurementEndsWithItsWriterAndTheNextOneMeasures) {
  for (int i = 0; i < 300; ++i) fs_.make_file(tree_, std::to_string(i));
  const std::string content = random_text(kMiB, 1);
  fs_.make_file(tree_, "first", content);
  ASSERT_TRUE(ok(fs_->set_quota(tree_, {.stored_bytes = 3 * kMiB})));
  for (const char* name : {"a", "b"}) fs_.make_file(tree_, name, content);
  const InodeNumber copy = fs_.make_file(tree_, "c");

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, fs_->write(copy, 0, bytes_of(content), {}, [] { return true; })));
  EXPECT_TRUE(ok(write(copy, 0, content))) << "it is measured now: copies store nothing";
}

TEST_F(QuotasTest, WhoIsGoneSetsNoQuota) {
  for (int i = 0; i < 300; ++i) fs_.make_file(tree_, std::to_string(i));
  const GoOn gone = [] { return Result<void>(Error{ErrorCode::kInterrupted, "nobody waits"}); };

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, fs_->set_quota(tree_, {.files = 1000}, gone)));

  EXPECT_THAT(fs_->quotas(), IsEmpty());
  fs_.close();
  EXPECT_TRUE(fsck().is_clean());
  fs_.open();
}

TEST_F(QuotasTest, AllTreesAreMeasuredInTheSameWalks) {
  for (int i = 0; i < 2000; ++i) fs_.make_file(kRootInode, std::to_string(i));
  const auto questions_for = [&](int trees) {
    const InodeNumber tree = fs_.make_directory(kRootInode, "tree" + std::to_string(trees));
    fs_.make_file(tree, "f", random_text(kMiB, 1));
    EXPECT_TRUE(ok(fs_->set_quota(tree, {.stored_bytes = 3 * kMiB})));
    int questions = 0;
    EXPECT_TRUE(ok(fs_->measure_quotas([&]() -> Result<void> {
      ++questions;
      return {};
    })));
    return questions;
  };

  const int one = questions_for(1);
  questions_for(2);
  questions_for(3);
  EXPECT_LT(questions_for(4), 2 * one);
  for (const QuotaStatus& quota : fs_->quotas()) {
    EXPECT_GT(quota.stored_bytes, kMiB) << "each tree counts what it needs";
    EXPECT_LT(quota.stored_bytes, kMiB + kMiB / 10);
  }
}

TEST_F(QuotasTest, AClonePutsATreeOfStoredBytesToTheTest) {
  ASSERT_TRUE(ok(fs_->set_quota(tree_, {.stored_bytes = 3 * kMiB})));
  const InodeNumber source = fs_.make_file(kRootInode, "source", random_text(kMiB, 1));
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(ok(fs_->clone_tree(source, tree_, std::to_string(i)))) << "clones store nothing";
  }
  EXPECT_TRUE(
      fails_with(ErrorCode::kQuotaExceeded, write(fs_.make_file(tree_, "f"), 0, random_text(2 * kMiB + kMiB / 2, 2))));
}

// Callers such as cp ask for as much as a call can copy.
TEST_F(QuotasTest, ACopyOfATinyFileNeedsNoMoreRoomThanTheFile) {
  ASSERT_TRUE(ok(fs_->set_quota(tree_, {.stored_bytes = 100 * kMiB})));
  fs_.make_file(tree_, "some", random_text(2 * kMiB, 1));
  const InodeNumber source = fs_.make_file(kRootInode, "source", "tiny");
  const InodeNumber copy = fs_.make_file(tree_, "copy");

  EXPECT_EQ(value_of(fs_->copy_range(source, 0, copy, 0, 1000 * kMiB)), 4u);
  EXPECT_GE(status().unmeasured_bytes, 2 * kMiB) << "it was measured";
}

// All its records are put in one group. One that found no room on the disk would keep all later groups from it, too.
TEST_F(QuotasTest, ATreeThatDoesNotFitIsRefusedBeforeAnyRecordChanges) {
  constexpr int kFiles = 500;
  for (int i = 0; i < kFiles; ++i) fs_.make_file(tree_, std::to_string(i));
  fs_.close();
  const auto disk = std::make_shared<FaultyBacking>();
  fs_.use(disk);
  fs_.open();
  // Half of the reserve of such a disk is 10 MiB.
  const auto leave = [&](std::uint64_t bytes) {
    disk->told_space = [=] { return Backing::Space{1000 * kMiB, 10 * kMiB + bytes}; };
  };
  leave(50'000);
  const auto refused = fs_->set_quota(tree_, {.files = 1000});
  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, refused));
  EXPECT_THAT(refused.error().message(), HasSubstr("501 names"));
  EXPECT_THAT(refused.error().message(), HasSubstr("make room there, or set quotas on directories in it"));
  EXPECT_THAT(fs_->quotas(), IsEmpty());
  EXPECT_EQ(record_of(tree_).quota, kNoQuota);

  leave(100'000);
  ASSERT_TRUE(ok(fs_->create_snapshot("s")));
  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, fs_->set_quota(tree_, {.files = 1000}))) << "and their before-images";
  leave(200'000);
  EXPECT_TRUE(ok(fs_->set_quota(tree_, {.files = 1000})));
  EXPECT_EQ(status().files, kFiles + 1U);
  disk->told_space = nullptr;
}

TEST(Quotas, ATreeThatTakesTooMuchMemoryIsRefused) {
  FilesystemOptions options = TestFilesystem::quiet();
  options.spare_memory = [] { return 10'000; };
  TestFilesystem fs(options);
  const InodeNumber tree = fs.make_directory(kRootInode, "tree");
  for (int i = 0; i < 30; ++i) fs.make_file(tree, std::to_string(i));
  const auto refused = fs->set_quota(tree, {.files = 1000});
  EXPECT_TRUE(fails_with(ErrorCode::kNoMemory, refused));
  EXPECT_THAT(refused.error().message(), HasSubstr("or set quotas on directories in it"));
  EXPECT_THAT(fs->quotas(), IsEmpty());
  EXPECT_TRUE(ok(fs->set_quota(fs.make_directory(tree, "small"), {.files = 1000})));
}

// A full disk has room again later, and the group that waits for it is committed then.
TEST_F(QuotasTest, AChangeWhoseCommitFailedHoldsAndSaysSo) {
  fs_.close();
  const auto disk = std::make_shared<FaultyBacking>();
  fs_.use(disk);
  fs_.open();
  const auto full = [](const std::string& operation, const Path& path) -> std::optional<Error> {
    if (operation != "write" || !path.string().ends_with(".log")) return std::nullopt;
    return Error{ErrorCode::kNoSpace, "full"};
  };
  disk->fault = full;
  for (const QuotaLimits& limits : {QuotaLimits{.files = 10}, QuotaLimits{.files = 20}}) {
    const auto failed = fs_->set_quota(tree_, limits);
    EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, failed));
    EXPECT_THAT(failed.error().message(), HasSubstr("holds from now on"));
    EXPECT_EQ(status().limits, limits);
  }
  disk->fault = nullptr;
  ASSERT_TRUE(ok(fs_->sync()));
  disk->fault = full;
  const auto failed = fs_->remove_quota(tree_);
  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, failed));
  EXPECT_THAT(failed.error().message(), HasSubstr("holds from now on"));
  EXPECT_THAT(fs_->quotas(), IsEmpty());
  disk->fault = nullptr;
  fs_.reopen();
  EXPECT_THAT(fs_->quotas(), IsEmpty());
}

TEST_F(QuotasTest, FsckFindsAndRepairsWrongSumsAndWrongTrees) {
  limit(tree_, kMiB);
  const InodeNumber file = fs_.make_file(tree_, "f", random_text(100'000, 1));
  const InodeNumber outside = fs_.make_file(kRootInode, "outside", random_text(50'000, 2));
  ASSERT_TRUE(ok(fs_->sync()));
  const auto before = sums();
  fs_.close();
  {
    const auto volume = value_of(Volume::open(fs_.path(), {}));
    const auto record_of = [&](InodeNumber inode) {
      return value_of(
          decode_inode(inode, value_of(volume->database().get(Family::kInodes, encode_inode_key(inode))).value()));
    };
    InodeRecord in_no_tree = record_of(file);
    InodeRecord in_a_tree = record_of(outside);
    std::swap(in_no_tree.quota, in_a_tree.quota);
    QuotaRecords quotas =
        value_of(decode_quotas(value_of(volume->database().get(Family::kCounters, kQuotasCounter)).value()));
    quotas.quotas.begin()->second.files = 77;
    Database::Batch batch(volume->database());
    batch.put(Family::kInodes, encode_inode_key(file), encode_inode(in_no_tree));
    batch.put(Family::kInodes, encode_inode_key(outside), encode_inode(in_a_tree));
    batch.put(Family::kCounters, std::string(kQuotasCounter), encode_quotas(quotas));
    ASSERT_TRUE(ok(volume->database().write(batch)));
  }
  EXPECT_FALSE(fsck().is_clean());
  FsckOptions options;
  options.mode = FsckOptions::Mode::kAll;
  const FsckReport report = value_of(run_fsck(fs_.path(), options));
  EXPECT_EQ(report.errors_left, 0u) << testing::PrintToString(report.lines);
  EXPECT_TRUE(fsck().is_clean()) << testing::PrintToString(fsck().lines);
  fs_.open();
  EXPECT_EQ(sums(), before);
  EXPECT_EQ(sums(), walk(tree_));
}

// Random operations in a tree with a quota. After each group, the sums must be those of a walk.
TEST_F(QuotasTest, SumsAreExactAfterRandomOperations) {
  limit(tree_, 400'000);
  std::mt19937 random(7);
  const auto pick = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  std::vector<InodeNumber> directories = {tree_, fs_.make_directory(tree_, "d1"), fs_.make_directory(tree_, "d2"),
                                          kRootInode};
  std::uint64_t refused = 0;
  for (int step = 0; step < 3000; ++step) {
    const InodeNumber directory = directories[pick(4)];
    const std::string name = "f" + std::to_string(pick(12));
    const auto found = fs_->lookup(directory, name);
    const std::uint64_t offset = pick(60'000);
    const std::string content = random_text(pick(30'000), static_cast<unsigned>(step));
    Result<void> done;
    switch (pick(9)) {
      case 0:
        if (!found) forget(fs_.make_file(directory, name));
        break;
      case 1:
      case 2:
        if (found) done = write(found->inode, offset, content);
        break;
      case 3:
        if (found) done = fs_->unlink(directory, name);
        break;
      case 4:
        done = fs_->rename(directory, name, directories[pick(4)], "f" + std::to_string(pick(12)), RenameMode::kReplace);
        break;
      case 5:
        if (found) {
          EXPECT_TRUE(ok(fs_->set_attributes(found->inode, {.size = pick(90'000)}, {})));
        }
        break;
      case 6:
        if (found) done = fs_->allocate(found->inode, offset, 1 + pick(40'000), AllocateMode::kPunchHole);
        break;
      case 7:
        if (found) (void)fs_->clone_tree(found->inode, directories[pick(4)], "f" + std::to_string(pick(12)));
        break;
      case 8:
        if (found && fs_->make_link(found->inode, directories[pick(4)], "f" + std::to_string(pick(12))))
          forget(found->inode);
        break;
    }
    if (!done && done.error().code() == ErrorCode::kQuotaExceeded) ++refused;
    if (found) forget(found->inode);
    if (step % 300 != 299) continue;
    ASSERT_TRUE(ok(fs_->sync()));
    for (int i = 0; i < 500 && sums() != walk(tree_); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(sums(), walk(tree_)) << step;
    ASSERT_LE(status().logical_bytes, 400'000u);
    if (step % 900 == 899) {
      const auto before = sums();
      fs_.close();
      ASSERT_TRUE(fsck().is_clean()) << testing::PrintToString(fsck().lines);
      fs_.open();
      ASSERT_EQ(sums(), before);
    }
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace dedupfs
