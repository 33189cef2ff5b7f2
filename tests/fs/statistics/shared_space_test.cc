#include "fs/statistics/shared_space.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "fs/statistics/statistics.h"
#include "fs/test_filesystem.h"
#include "shared_space_fixture.h"
#include "store/word_text.h"

namespace dedupfs {
namespace {

TEST_F(SharedSpaceTest, WhatTwoFilesShareGoesWithBoth) {
  content_.put_extent(1000, {raw_chunk(), raw_chunk(), raw_chunk()});
  const InodeNumber first = make_file_of("first", {1000, 1001});
  const InodeNumber second = make_file_of("second", {1001, 1000, 1002});

  EXPECT_EQ(deletion({first}).own_bytes, 0u);
  EXPECT_EQ(deletion({first}).stored_bytes, 2 * kRawStored);
  EXPECT_EQ(deletion({second}).own_bytes, kRawStored);
  const Share both = deletion({first, second});
  EXPECT_EQ(both.own_bytes, 3 * kRawStored);
  EXPECT_EQ(both.files, 2u);
  EXPECT_EQ(both.logical_bytes, 8 * kRawBytes);
  EXPECT_EQ(both.held_bytes, 0u);
}

TEST_F(SharedSpaceTest, TellsHowManyRecordsItVisits) {
  for (int i = 0; i < 1000; ++i)
    filesystem_->forget(
        filesystem_.make_file(kRootInode, std::to_string(i), random_text(100, static_cast<unsigned>(i))), 1);
  ASSERT_TRUE(ok(filesystem_->sync()));
  JobMeter folders, snapshots;
  bool is_asked = false;
  const auto ask = [&] {
    is_asked = true;
    return Result<void>();
  };

  value_of(compute_folder_shares(filesystem_->volume(), {kRootInode}, ask, &folders));
  EXPECT_TRUE(is_asked);
  // Names twice, recipes twice, inodes once; extents some times. It counts in blocks.
  EXPECT_GE(folders.done(), 3500u);
  EXPECT_LE(folders.done(), folders.total() * 3 / 2);
  EXPECT_LE(folders.total(), folders.done() * 3 / 2);

  value_of(compute_snapshot_shares(filesystem_->volume(), ask, &snapshots));
  EXPECT_GT(snapshots.total(), 0u);
}

TEST_F(SharedSpaceTest, BasesGoWithTheLastDeltaOfThem) {
  content_.put_extent(1000, {raw_chunk(), raw_chunk()});
  content_.put_extent(1010, {delta_chunk(200, {1000})});
  content_.put_extent(1020, {delta_chunk(100, {1010}), delta_chunk(100, {1010})});
  const InodeNumber first = make_file_of("first", {1020});
  const InodeNumber second = make_file_of("second", {1021});

  EXPECT_EQ(deletion({first}).own_bytes, 50u);
  EXPECT_EQ(deletion({first}).stored_bytes, 50 + 100 + kRawStored);
  EXPECT_EQ(deletion({first, second}).own_bytes, 100 + 100 + kRawStored) << "1001 is garbage already";
}

TEST_F(SharedSpaceTest, ChunksThatDeltasOfOthersNeedAreHeld) {
  content_.put_extent(1000, {raw_chunk(), raw_chunk()});
  content_.put_extent(1010, {delta_chunk(200, {1000})});
  const InodeNumber first = make_file_of("first", {1000, 1001});
  make_file_of("second", {1010});

  const Share share = deletion({first});

  EXPECT_EQ(share.own_bytes, kRawStored);
  EXPECT_EQ(share.held_bytes, kRawStored);
}

TEST_F(SharedSpaceTest, AFileStaysUntilItsLastNameGoes) {
  content_.put_extent(1000, {raw_chunk()});
  const InodeNumber folder = filesystem_.make_directory(kRootInode, "folder");
  const InodeNumber file = make_file_of("file", {1000});
  value_of(filesystem_->make_link(file, kRootInode, "second"));
  value_of(filesystem_->make_link(file, folder, "third"));
  ASSERT_TRUE(ok(filesystem_->sync()));

  const Share one = deletion({file});
  EXPECT_EQ(one.own_bytes, 0u);
  EXPECT_EQ(one.shared_files, 1u);
  EXPECT_EQ(one.stored_bytes, kRawStored);
  EXPECT_EQ(deletion({file, file}).own_bytes, 0u);
  EXPECT_EQ(deletion({{{folder, 0}, {file, kRootInode}, {file, kRootInode}}, {}}).own_bytes, kRawStored);
  EXPECT_EQ(deletion({{{folder, 0}, {file, folder}, {file, kRootInode}, {file, kRootInode}}, {}}).own_bytes,
            kRawStored);
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound,
                         compute_deletion(filesystem_->volume(), {{{file, folder}, {file, folder}}, {}})));
}

TEST_F(SharedSpaceTest, SnapshotsAreOthersUnlessTheyGoToo) {
  content_.put_extent(1000, {raw_chunk(), raw_chunk()});
  const InodeNumber file = make_file_of("file", {1000, 1001});
  ASSERT_TRUE(ok(filesystem_->create_snapshot("monday")));
  ASSERT_TRUE(ok(filesystem_->create_snapshot("tuesday")));

  EXPECT_EQ(deletion({file}).own_bytes, 0u);
  EXPECT_EQ(deletion({{{file, kRootInode}}, {"monday"}}).own_bytes, 0u);
  EXPECT_EQ(deletion({{}, {"monday", "tuesday"}}).own_bytes, 0u) << "the live file has it";
  EXPECT_EQ(deletion({{{file, kRootInode}}, {"monday", "tuesday"}}).own_bytes, 2 * kRawStored);
  EXPECT_EQ(deletion({{{file, kRootInode}, {node_of(1, kRootInode), 0}}, {"tuesday"}}).own_bytes, 2 * kRawStored);
}

TEST_F(SharedSpaceTest, RefusesWhatCannotBeDeleted) {
  const InodeNumber file = make_file("file");
  ASSERT_TRUE(ok(filesystem_->create_snapshot("monday")));
  Volume& volume = filesystem_->volume();

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, compute_deletion(volume, {{}, {"friday"}})));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, compute_deletion(volume, {{{4711, kRootInode}}, {}})));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, compute_deletion(volume, {{{node_of(1, file), 0}}, {}})));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, compute_deletion(volume, {{{kSnapshotsInode, 0}}, {}})));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, compute_deletion(volume, {{{node_of(9, kRootInode), 0}}, {}})));
}

TEST_F(SharedSpaceTest, FoldersOfADirectoryAreShownAfterIt) {
  content_.put_extent(1000, {raw_chunk(), raw_chunk(), raw_chunk(), raw_chunk()});
  const InodeNumber top = filesystem_.make_directory(kRootInode, "top");
  const InodeNumber a = filesystem_.make_directory(top, "a");
  const InodeNumber b = filesystem_.make_directory(top, "b");
  const InodeNumber deep = filesystem_.make_directory(b, "deep");
  make_file_of("file", {1000, 1001}, a);
  make_file_of("file", {1001, 1002}, deep);
  make_file_of("file", {1003}, top);
  make_file_of("elsewhere", {1002});

  const auto shares = value_of(compute_folder_shares(filesystem_->volume(), {top}));

  ASSERT_EQ(shares.size(), 1u);
  ASSERT_EQ(shares[0].size(), 3u);
  EXPECT_EQ(shares[0][0].name, "");
  EXPECT_EQ(shares[0][0].share.files, 3u);
  EXPECT_EQ(shares[0][0].share.logical_bytes, 12 * kRawBytes);
  EXPECT_EQ(shares[0][0].share.stored_bytes, 4 * kRawStored);
  EXPECT_EQ(shares[0][0].share.own_bytes, 3 * kRawStored);
  EXPECT_EQ(shares[0][1].name, "a");
  EXPECT_EQ(shares[0][1].share.stored_bytes, 2 * kRawStored);
  EXPECT_EQ(shares[0][1].share.own_bytes, kRawStored);
  EXPECT_EQ(shares[0][2].name, "b");
  EXPECT_EQ(shares[0][2].share.files, 1u);
  EXPECT_EQ(shares[0][2].share.own_bytes, 0u);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, compute_folder_shares(filesystem_->volume(), {top, deep})));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, compute_folder_shares(filesystem_->volume(), {deep, top})));
}

TEST_F(SharedSpaceTest, EndsWhenNobodyWaits) {
  content_.put_extent(1000, {raw_chunk()});
  const InodeNumber large = make_file("large");
  content_.let_be_long(large, 1000, 2000);
  int asked = 0;
  const GoOn give_up = [&]() -> Result<void> {
    if (++asked < 3) return {};
    return Error{ErrorCode::kInterrupted, "enough"};
  };

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted,
                         compute_deletion(filesystem_->volume(), {{{large, kRootInode}}, {}}, give_up)));
  EXPECT_EQ(asked, 3);
}

// ---------------------------------------------------------------- against the disk

// Real chunks: deltas, compressed regions, hard links, a snapshot.
class SharedSpaceOnDisk : public testing::Test {
 protected:
  static std::string text(unsigned seed, std::size_t bytes = 1 << 20) {
    return std::string(text_of(word_text(bytes, seed)));
  }
  // A later version of it: some bytes in each chunk are new, so that deltas are made.
  static std::string edited(std::string text, unsigned seed) {
    std::mt19937 random(seed);
    for (std::size_t i = random() % 3000; i < text.size(); i += 2000 + random() % 2000) text.replace(i, 8, "edited!!");
    return text;
  }
  std::uint64_t reclaimed_bytes() {
    const auto ended = value_of(run_reclaim(filesystem_->reclaimer(), {.garbage_left = 0}, std::chrono::milliseconds(1),
                                            [](const auto&) { return true; }));
    EXPECT_FALSE(ended.last->error);
    EXPECT_TRUE(ok(filesystem_->sync()));
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(filesystem_.path() / "containers"))
      if (entry.is_regular_file()) bytes += entry.file_size();
    return bytes;
  }
  void remove(InodeNumber parent, const std::string& name, InodeNumber inode) {
    EXPECT_TRUE(ok(filesystem_->unlink(parent, name)));
    filesystem_->forget(inode, 1);
  }

  TestFilesystem filesystem_;
};

TEST_F(SharedSpaceOnDisk, ShrinksByWhatWasSaid) {
  const InodeNumber first = filesystem_.make_directory(kRootInode, "first");
  const InodeNumber second = filesystem_.make_directory(kRootInode, "second");
  DeletedSet deleted{.names = {{first, 0}}, .snapshots = {"all"}};
  std::vector<InodeNumber> files;
  for (unsigned i = 0; i < 6; ++i) {
    const std::string name = std::to_string(i);
    files.push_back(filesystem_.make_file(first, name, text(i)));
    ASSERT_TRUE(ok(filesystem_->sync()));
    if (i < 3) filesystem_.make_file(second, name, edited(text(i), i));  // made from it
    if (i == 4) filesystem_->forget(value_of(filesystem_->make_link(files[4], second, name)).inode, 1);
  }
  filesystem_.make_file(first, "last", edited(text(5), 5));  // of this the set has the base as well
  files.push_back(value_of(filesystem_.find("first/last")));
  ASSERT_TRUE(ok(filesystem_->create_snapshot("all")));
  ASSERT_GT(value_of(compute_statistics(filesystem_->volume())).delta_chunks, 100u);
  const std::uint64_t before = reclaimed_bytes();

  const Share share = value_of(compute_deletion(filesystem_->volume(), deleted));
  for (unsigned i = 0; i < 6; ++i) remove(first, std::to_string(i), files[i]);
  remove(first, "last", files[6]);
  ASSERT_TRUE(ok(filesystem_->remove_directory(kRootInode, "first")));
  filesystem_->forget(first, 1);
  ASSERT_TRUE(ok(filesystem_->delete_snapshot("all")));
  const auto after = static_cast<double>(reclaimed_bytes());

  EXPECT_EQ(share.shared_files, 1u);
  EXPECT_GT(share.own_bytes, before / 5);
  EXPECT_GT(share.held_bytes, 0u);
  const double kept = static_cast<double>(before - share.own_bytes);
  const double margin = 0.03 * static_cast<double>(before);
  EXPECT_LE(after, kept + margin);
  EXPECT_GE(after, kept - static_cast<double>(share.held_bytes) - margin);
}

}  // namespace
}  // namespace dedupfs
