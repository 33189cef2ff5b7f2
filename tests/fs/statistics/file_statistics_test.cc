#include "fs/statistics/file_statistics.h"

#include <gtest/gtest.h>

#include <random>

#include "fs/statistics/statistics.h"
#include "fs/test_filesystem.h"
#include "hand_made_content.h"
#include "index/counters.h"
#include "support/peak_memory.h"
#include "support/sanitized.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kChunk = kHandMadeChunkBytes;

class FileStatisticsTest : public testing::Test {
 protected:
  FileStatisticsTest() : content_(filesystem_->volume().database()) {}

  // Of so many bytes, and committed; what it consists of is for content_ to say.
  InodeNumber make_file(const std::string& name, std::size_t bytes = 4 * kChunk) {
    const InodeNumber inode = filesystem_.make_file(kRootInode, name, std::string(bytes, 'x'));
    EXPECT_TRUE(ok(filesystem_->sync()));
    return inode;
  }
  Result<std::vector<FileStatistics>> statistics(const std::vector<InodeNumber>& files) {
    return compute_file_statistics(filesystem_->volume(), files);
  }
  FileStatistics statistics(InodeNumber file) { return value_of(statistics(std::vector{file})).at(0); }

  TestFilesystem filesystem_;
  HandMadeContent content_;
};

TEST_F(FileStatisticsTest, SizesAreThoseOfTheFile) {
  const InodeNumber tiny = make_file("tiny", 7);
  const InodeNumber sparse = make_file("sparse", 100'000);
  ASSERT_TRUE(ok(filesystem_->set_attributes(sparse, {.size = 300'000}, {})));
  ASSERT_TRUE(ok(filesystem_->sync()));

  const auto found = value_of(statistics(std::vector{tiny, sparse}));

  EXPECT_EQ(found[0].logical_bytes, 7u);
  EXPECT_EQ(found[0].inline_bytes, 7u);
  EXPECT_EQ(found[0].chunks + found[0].containers + found[0].stored_bytes, 0u);
  EXPECT_EQ(found[1].logical_bytes, 300'000u);
  EXPECT_EQ(found[1].hole_bytes, 200'000u);
  EXPECT_EQ(found[1].inline_bytes, 0u);
  EXPECT_GE(found[1].chunks, 6u);
  EXPECT_EQ(found[1].containers, 1u);
}

TEST_F(FileStatisticsTest, ChunksThatNobodyElseHasAreItsOwn) {
  content_.put_extent(1000, {raw_chunk(), raw_chunk()});
  const InodeNumber file = make_file("file");
  content_.let_be(file, {1000, 1001});

  const FileStatistics found = statistics(file);

  EXPECT_EQ(found.chunks, 2u);
  EXPECT_EQ(found.unique_chunks, 2u);
  EXPECT_EQ(found.shared_chunks, 0u);
  EXPECT_EQ(found.unique_bytes, 2 * kChunk);
  EXPECT_EQ(found.stored_bytes, kChunk);
  EXPECT_EQ(found.own_bytes, kChunk);
}

// Of 16 million references; what one of these takes in memory, the recipe of a file of 2 TB takes a hundred times.
TEST_F(FileStatisticsTest, NeitherALargeFileNorOneBesideItIsLoaded) {
  constexpr std::uint64_t kSegments = kSanitized ? 1 << 10 : 16 << 10;  // with sanitizers it says nothing of memory
  content_.put_extent(1000, {raw_chunk(), raw_chunk()});
  const InodeNumber small = make_file("small");
  content_.let_be(small, {1000, 1001});
  const InodeNumber large = make_file("large");
  content_.let_be_long(large, 1001, kSegments);
  const PeakMemory memory;

  const auto found = value_of(statistics(std::vector{small, large}));

  EXPECT_LT(memory.growth_bytes(), 48u << 20) << "eight bytes a reference are 128 MiB";
  EXPECT_EQ(found[0].chunks, 2u);
  EXPECT_EQ(found[0].shared_chunks, 1u);
  EXPECT_EQ(found[1].chunks, kSegments * kSegmentEntries);
  EXPECT_EQ(found[1].unique_chunks, 1u);
  EXPECT_EQ(found[1].own_bytes, 0u);
  EXPECT_EQ(found[1].regions_read, 1u);
}

TEST_F(FileStatisticsTest, ChunkOfTwoFilesIsSharedAndNeitherOnesOwn) {
  content_.put_extent(1000, {raw_chunk(), raw_chunk(), raw_chunk()});
  const InodeNumber first = make_file("first");
  const InodeNumber second = make_file("second");
  content_.let_be(first, {1000, 1001});
  content_.let_be(second, {1001, 1002});

  for (const FileStatistics& found : value_of(statistics(std::vector{second, first}))) {
    EXPECT_EQ(found.unique_chunks, 2u);
    EXPECT_EQ(found.shared_chunks, 1u);
    EXPECT_EQ(found.stored_bytes, kChunk);
    EXPECT_EQ(found.own_bytes, kChunk / 2);
  }
}

TEST_F(FileStatisticsTest, ChunkThatAFileHasTwiceIsSharedAndItsOwn) {
  content_.put_extent(1000, {raw_chunk(), raw_chunk()});
  const InodeNumber file = make_file("file");
  content_.let_be(file, {1001, 1000, 1001, 1001});

  const FileStatistics found = statistics(file);

  EXPECT_EQ(found.chunks, 4u);
  EXPECT_EQ(found.unique_chunks, 2u);
  EXPECT_EQ(found.shared_chunks, 1u);
  EXPECT_EQ(found.stored_bytes, kChunk);
  EXPECT_EQ(found.own_bytes, kChunk);
}

TEST_F(FileStatisticsTest, FileThatWasDeletedButIsOpenSharesNothing) {
  content_.put_extent(1000, {raw_chunk()});
  const InodeNumber file = make_file("file");
  const InodeNumber open = make_file("open");  // referenced until the end of the test
  content_.let_be(file, {1000});
  content_.let_be(open, {1000});
  ASSERT_TRUE(ok(filesystem_->unlink(kRootInode, "open")));
  ASSERT_TRUE(ok(filesystem_->sync()));

  EXPECT_EQ(statistics(file).shared_chunks, 0u);
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, statistics(std::vector{open})));
}

TEST_F(FileStatisticsTest, ReadTouchesTheContainersOfDeltasToTheirEnd) {
  content_.put_extent(1000, {raw_chunk(), raw_chunk()}, 1);
  content_.put_extent(1010, {delta_chunk(100, {1000, 1001})}, 2);
  content_.put_extent(1020, {delta_chunk(60, {1010}), raw_chunk()}, 3);
  content_.put_extent(1030, {raw_chunk()}, 4);
  const InodeNumber file = make_file("file");
  content_.let_be(file, {1020, 1021, 1000});

  const FileStatistics found = statistics(file);

  EXPECT_EQ(found.delta_chunks, 1u);
  EXPECT_EQ(found.base_chunks, 2u) << "1010 and 1001; 1000 is the file's own";
  EXPECT_EQ(found.containers, 3u) << "not that of 1030";
  EXPECT_EQ(found.unique_bytes, 3 * kChunk);
  EXPECT_EQ(found.stored_bytes, (60 + 2 * kChunk) / 2);
}

TEST_F(FileStatisticsTest, ReadGoesThroughRegionsInTheOrderOfTheFile) {
  for (std::uint64_t i = 0; i < 3; ++i)
    content_.put_extent(1000 + 10 * i, {raw_chunk(), raw_chunk()}, 1, static_cast<std::uint32_t>(64 + i * kChunk));
  content_.put_extent(1100, {delta_chunk(100, {1000})}, 2);
  const InodeNumber straight = make_file("straight");
  const InodeNumber back = make_file("back");
  const InodeNumber far = make_file("far");
  content_.let_be(straight, {1000, 1001, 1010, 1011, 1020});
  content_.let_be(back, {1020, 1011, 1001, 1010, 1021});
  content_.let_be(far, {1010, 1100, 1011});

  const auto found = value_of(statistics(std::vector{straight, back, far}));

  EXPECT_EQ(found[0].regions_read, 3u);
  EXPECT_EQ(found[0].jumps, 1u);
  EXPECT_EQ(found[0].read_bytes, 3 * kChunk);
  EXPECT_EQ(found[1].regions_read, 3u) << "none is read again";
  EXPECT_EQ(found[1].jumps, 3u);
  EXPECT_EQ(found[2].regions_read, 3u) << "what the delta is made from, too";
  EXPECT_EQ(found[2].jumps, 3u);
  EXPECT_GT(found[1].hard_disk_seconds, 0.03);
  EXPECT_LT(found[0].hard_disk_seconds, 0.02);
  EXPECT_LT(found[1].ssd_seconds, 0.01);
}

class SnapshotFileStatisticsTest : public FileStatisticsTest {
 protected:
  InodeNumber in_monday(const std::string& name) { return value_of(filesystem_.find(".snapshots/monday/" + name)); }
  InodeNumber make_noise(const std::string& name, std::size_t bytes, unsigned seed) {
    return filesystem_.make_file(kRootInode, name, noise(bytes, seed));
  }
  void remove(const std::string& name, InodeNumber inode) {
    ASSERT_TRUE(ok(filesystem_->unlink(kRootInode, name)));
    filesystem_->forget(inode, 1);
    ASSERT_TRUE(ok(filesystem_->sync()));
  }
  static std::string noise(std::size_t bytes, unsigned seed) {
    std::mt19937 random(seed);
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
  }
};

TEST_F(SnapshotFileStatisticsTest, FileOfASnapshotIsWhatItWasThen) {
  const InodeNumber file = make_noise("file", 200'000, 1);
  const InodeNumber tiny = filesystem_.make_file(kRootInode, "tiny", "seven b");
  ASSERT_TRUE(ok(filesystem_->create_snapshot("monday")));
  const FileStatistics before = statistics(file);
  filesystem_.write(file, 0, noise(300'000, 2));
  filesystem_.write(tiny, 0, noise(50'000, 3));
  ASSERT_TRUE(ok(filesystem_->sync()));

  const auto found = value_of(statistics(std::vector{in_monday("tiny"), file, in_monday("file")}));

  EXPECT_EQ(found[0].logical_bytes, 7u);
  EXPECT_EQ(found[0].inline_bytes, 7u);
  EXPECT_EQ(found[0].chunks, 0u);
  EXPECT_EQ(found[1].logical_bytes, 300'000u);
  EXPECT_EQ(found[2].logical_bytes, 200'000u);
  EXPECT_EQ(found[2].chunks, before.chunks);
  EXPECT_EQ(found[2].unique_bytes, 200'000u);
  EXPECT_EQ(found[2].stored_bytes, before.stored_bytes);
  EXPECT_EQ(found[2].own_bytes, before.stored_bytes) << "nobody else has it any more";
  EXPECT_EQ(found[2].shared_chunks, 0u);
  EXPECT_EQ(found[2].regions_read, before.regions_read);
}

TEST_F(SnapshotFileStatisticsTest, SegmentsThatChangedAndThoseThatDidNotMakeTheFile) {
  constexpr std::size_t kBytes = 12'000'000;  // some segments
  const InodeNumber file = make_noise("file", kBytes, 1);
  ASSERT_TRUE(ok(filesystem_->create_snapshot("monday")));
  const FileStatistics before = statistics(file);
  filesystem_.write(file, kBytes / 2, noise(100'000, 2));
  ASSERT_TRUE(ok(filesystem_->sync()));

  const FileStatistics found = statistics(in_monday("file"));

  EXPECT_EQ(found.chunks, before.chunks);
  EXPECT_EQ(found.unique_bytes, kBytes);
  EXPECT_EQ(found.stored_bytes, before.stored_bytes);
  EXPECT_GT(found.shared_chunks, found.unique_chunks * 9 / 10) << "with what it became";
  EXPECT_LT(found.shared_chunks, found.unique_chunks);
  EXPECT_GE(found.own_bytes, 90'000u);
  const Statistics all = value_of(compute_statistics(filesystem_->volume()));
  EXPECT_EQ(found.unique_chunks - found.shared_chunks, all.snapshot_only_chunks);
  EXPECT_NEAR(static_cast<double>(found.own_bytes), static_cast<double>(all.snapshot_only_bytes),
              static_cast<double>(all.snapshot_only_chunks))
      << "a byte for each that is rounded";
}

TEST_F(SnapshotFileStatisticsTest, FileThatWasDeletedSinceIsThereWhileItsSnapshotIs) {
  const InodeNumber file = make_noise("file", 200'000, 1);
  const InodeNumber copy = make_noise("copy", 200'000, 1);
  ASSERT_TRUE(ok(filesystem_->create_snapshot("monday")));
  const InodeNumber old_file = in_monday("file");
  const InodeNumber old_copy = in_monday("copy");
  remove("file", file);

  EXPECT_EQ(statistics(old_file).unique_bytes, 200'000u);
  EXPECT_EQ(statistics(old_file).own_bytes, 0u) << "the copy outside of the snapshot has it";
  remove("copy", copy);
  EXPECT_EQ(statistics(old_copy).own_bytes, 0u) << "the other file of the snapshot has it";
  EXPECT_EQ(statistics(old_copy).shared_chunks, statistics(old_copy).unique_chunks);
  ASSERT_TRUE(ok(filesystem_->delete_snapshot("monday")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, statistics(std::vector{old_file})));
}

TEST_F(SnapshotFileStatisticsTest, FileThatWasDeletedButIsOpenIsStillItsSnapshots) {
  constexpr std::size_t kBytes = 12'000'000;  // some segments
  const InodeNumber open = make_noise("open", kBytes, 1);
  make_noise("copy", kBytes, 1);
  ASSERT_TRUE(ok(filesystem_->create_snapshot("sunday")));
  ASSERT_TRUE(ok(filesystem_->create_snapshot("monday")));
  const InodeNumber old_open = in_monday("open");
  const InodeNumber old_copy = in_monday("copy");
  filesystem_.write(open, kBytes / 2, noise(100'000, 2));
  ASSERT_TRUE(ok(filesystem_->unlink(kRootInode, "open")));
  ASSERT_TRUE(ok(filesystem_->unlink(kRootInode, "copy")));
  ASSERT_TRUE(ok(filesystem_->sync()));

  const FileStatistics found = statistics(old_copy);

  EXPECT_EQ(found.own_bytes, 0u) << "the other file of the snapshots has it";
  EXPECT_EQ(found.shared_chunks, found.unique_chunks);
  EXPECT_EQ(statistics(old_open).own_bytes, 0u);
  const Statistics all = value_of(compute_statistics(filesystem_->volume()));
  EXPECT_EQ(all.snapshot_only_chunks, found.unique_chunks) << "and not what was written since";
}

TEST_F(SnapshotFileStatisticsTest, FileThatWasDeletedAndCameAfterTheSnapshotIsNobodys) {
  ASSERT_TRUE(ok(filesystem_->create_snapshot("monday")));
  make_noise("open", 200'000, 1);
  ASSERT_TRUE(ok(filesystem_->unlink(kRootInode, "open")));
  ASSERT_TRUE(ok(filesystem_->sync()));

  EXPECT_EQ(value_of(compute_statistics(filesystem_->volume())).snapshot_only_chunks, 0u);
}

TEST_F(SnapshotFileStatisticsTest, WhatOtherSnapshotsHaveOfTheSameFileIsNoOtherFile) {
  const InodeNumber file = make_noise("file", 200'000, 1);
  ASSERT_TRUE(ok(filesystem_->create_snapshot("monday")));
  ASSERT_TRUE(ok(filesystem_->create_snapshot("tuesday")));
  filesystem_.write(file, 0, noise(200'000, 2));
  ASSERT_TRUE(ok(filesystem_->create_snapshot("wednesday")));
  filesystem_.write(file, 0, noise(200'000, 1));
  ASSERT_TRUE(ok(filesystem_->sync()));
  EXPECT_EQ(statistics(in_monday("file")).own_bytes, 0u) << "it has become that again";
  filesystem_.write(file, 0, noise(200'000, 3));
  ASSERT_TRUE(ok(filesystem_->create_snapshot("thursday")));

  const FileStatistics found = statistics(in_monday("file"));

  EXPECT_EQ(found.own_bytes, found.stored_bytes);
  EXPECT_EQ(found.shared_chunks, 0u);
}

TEST_F(SnapshotFileStatisticsTest, WhatCameLaterOrWasNoFileIsRefused) {
  ASSERT_TRUE(ok(filesystem_->create_snapshot("monday")));
  const TreeNumber monday = filesystem_->snapshots().front().number;
  const InodeNumber later = make_file("later");

  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, statistics(std::vector{node_of(monday, later)})));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, statistics(std::vector{node_of(monday + 1, later)})));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, statistics(std::vector{node_of(monday, kRootInode)})));
}

TEST_F(FileStatisticsTest, WhatIsNoFileIsRefused) {
  const InodeNumber link = value_of(filesystem_->make_symlink(kRootInode, "link", "target", {})).inode;
  ASSERT_TRUE(ok(filesystem_->sync()));

  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, statistics(std::vector{kRootInode})));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, statistics(std::vector{link})));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, statistics(std::vector<InodeNumber>{1'000'000})));
}

TEST_F(FileStatisticsTest, DamageIsReported) {
  content_.put_extent(1000, {raw_chunk(), delta_chunk(100, {1ull << 60}), delta_chunk(100, {500})});
  const InodeNumber file = make_file("file");

  for (const std::uint64_t bad : {std::uint64_t{999}, std::uint64_t{1003}, std::uint64_t{1} << 60}) {
    content_.let_be(file, {1000, bad});
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, statistics(std::vector{file}))) << bad;
  }
  content_.let_be(file, {1002});
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, statistics(std::vector{file}))) << "a source that is not there";
  content_.let_be(file, {1001});
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, statistics(std::vector{file}))) << "a source that cannot be";
}

}  // namespace
}  // namespace dedupfs
