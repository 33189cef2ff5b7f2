#include "fs/statistics/statistics.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "fs/test_filesystem.h"
#include "hand_made_content.h"
#include "index/counters.h"
#include "support/folder_at.h"
#include "support/peak_memory.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr double kLateBytes = 64 << 10;  // what the disk below may allocate between two looks at it

std::string noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

double allocated_below(const std::filesystem::path& path) {
  const auto allocated = [](const std::filesystem::path& file) {
    struct stat status {};
    EXPECT_EQ(::lstat(file.c_str(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  };
  std::uint64_t bytes = allocated(path);
  for (const auto& file : std::filesystem::recursive_directory_iterator(path)) bytes += allocated(file.path());
  return static_cast<double>(bytes);
}

// Chunks are blocks of 4 KiB, so that anybody can count them.
class StatisticsTest : public testing::Test {
 protected:
  StatisticsTest() { make(Compression::none()); }

  void make(const Compression& compression) {
    filesystem_.reset();
    std::filesystem::remove_all(path());
    VolumeSettings settings;
    settings.chunker = "fixed:size=4k";
    settings.compression = {.settled = compression};
    settings.label = "name";
    value_of(Volume::create(path(), settings));
    open();
  }
  void open() {
    FilesystemOptions options;
    options.commit_interval = std::chrono::hours(1);
    filesystem_ = value_of(
        Filesystem::open(value_of(Volume::open(path(), {.index_memory_bytes = 16 << 20, .threads = 2})), options));
  }
  void reopen(const std::function<void()>& meanwhile = [] {}) {
    filesystem_.reset();
    meanwhile();
    open();
  }

  std::filesystem::path path() const { return directory_.path() / "volume"; }
  Filesystem& filesystem() { return *filesystem_; }
  InodeNumber make_file(std::string_view name, std::string_view content) {
    const InodeNumber inode = value_of(filesystem_->create(kRootInode, name, 0644, {})).inode;
    EXPECT_TRUE(ok(filesystem_->write(inode, 0, bytes_of(content), {}, nullptr)));
    return inode;
  }
  Statistics statistics() {
    EXPECT_TRUE(ok(filesystem_->sync()));
    return value_of(compute_statistics(filesystem_->volume()));
  }

 private:
  TempDir directory_;
  std::unique_ptr<Filesystem> filesystem_;
};

void expect_chains_up(const Statistics& statistics) {
  const double in_chunks =
      static_cast<double>(statistics.logical_bytes - statistics.hole_bytes - statistics.inline_bytes);
  EXPECT_EQ(statistics.unique_chunks + statistics.duplicate_chunks, statistics.chunks);
  EXPECT_EQ(statistics.stored_bytes + statistics.base_only_bytes + statistics.garbage_bytes + statistics.index_bytes +
                statistics.other_bytes,
            statistics.disk_bytes);
  EXPECT_EQ(statistics.unique_bytes - statistics.delta_raw_bytes + statistics.delta_bytes,
            statistics.after_delta_bytes);
  EXPECT_NEAR(in_chunks / statistics.dedup_ratio(), static_cast<double>(statistics.unique_bytes), 1);
  EXPECT_NEAR(static_cast<double>(statistics.unique_bytes) / statistics.delta_compression_ratio(),
              static_cast<double>(statistics.after_delta_bytes), 1);
  EXPECT_NEAR(static_cast<double>(statistics.after_delta_bytes) / statistics.local_compression_ratio(),
              static_cast<double>(statistics.stored_bytes), 1);
  EXPECT_NEAR(static_cast<double>(statistics.unique_bytes) / statistics.compression_ratio(),
              static_cast<double>(statistics.stored_bytes), 1);
  EXPECT_NEAR(static_cast<double>(statistics.logical_bytes) / statistics.total_ratio(),
              static_cast<double>(statistics.disk_bytes), 1);
}

// A copy of what was taken before is made later.
TEST_F(StatisticsTest, TheNewestSnapshotIsTheOneWithTheLatestDate) {
  EXPECT_EQ(statistics().last_snapshot_unix_seconds, std::nullopt);
  ASSERT_TRUE(ok(filesystem().create_snapshot("own", 2000)));
  ASSERT_TRUE(ok(filesystem().create_snapshot("copy", 1000)));

  EXPECT_EQ(statistics().last_snapshot_unix_seconds, 2000);
}

TEST_F(StatisticsTest, EmptyVolumeHasRatiosOfOneAndSavesNothing) {
  const Statistics empty = statistics();

  EXPECT_EQ(empty.directories, 1u);
  EXPECT_EQ(empty.files + empty.logical_bytes + empty.chunks + empty.unique_bytes + empty.stored_bytes, 0u);
  EXPECT_EQ(empty.dedup_ratio(), 1.0);
  EXPECT_EQ(empty.delta_compression_ratio(), 1.0);
  EXPECT_EQ(empty.local_compression_ratio(), 1.0);
  EXPECT_EQ(empty.similar_chunk_ratio() + empty.delta_compression_efficiency() + empty.mean_delta_bytes(), 0.0);
  EXPECT_EQ(empty.compression_ratio(), 1.0);
  EXPECT_EQ(empty.total_ratio(), 0.0);
  EXPECT_EQ(empty.savings_percent(), 0.0);
}

TEST_F(StatisticsTest, IdsThatWereGivenAwayLongAgoTakeNoMemory) {
  make_file("old", noise(10 * kBlock, 1));
  ASSERT_TRUE(ok(filesystem().sync()));
  reopen([&] {
    const auto index =
        value_of(Database::open(folder_at(path() / kIndexDirectory), {.memory_bytes = Database::kMinMemoryBytes}));
    Database::Batch batch(*index);
    batch.put(Family::kCounters, kNextChunkIdCounter, encode_number(16'000'000'000));
    ASSERT_TRUE(ok(index->write(batch)));
  });
  make_file("new", noise(10 * kBlock, 2));
  const PeakMemory memory;

  const Statistics found = statistics();

  EXPECT_EQ(found.unique_chunks, 20u);
  EXPECT_LT(memory.growth_bytes(), 256u << 20) << "flat bits took three GB";
}

TEST_F(StatisticsTest, NumbersAreThoseOfTheData) {
  const std::string data = noise(100 * kBlock, 1);
  for (const auto* name : {"one", "two", "three"}) make_file(name, data);
  make_file("tiny", "seven b");
  const InodeNumber sparse = make_file("sparse", noise(kBlock, 2));
  ASSERT_TRUE(ok(filesystem().set_attributes(sparse, {.size = 10 * kBlock}, {})));
  value_of(filesystem().make_link(sparse, kRootInode, "hard link"));
  value_of(filesystem().make_directory(kRootInode, "folder", 0755, {}));
  value_of(filesystem().make_symlink(kRootInode, "symlink", "target", {}));
  value_of(filesystem().make_node(kRootInode, "fifo", S_IFIFO | 0600, 0, {}));

  const Statistics found = statistics();

  EXPECT_EQ(found.files, 5u);
  EXPECT_EQ(found.directories, 2u);
  EXPECT_EQ(found.symlinks, 1u);
  EXPECT_EQ(found.special_files, 1u);
  EXPECT_EQ(found.logical_bytes, 3 * data.size() + 7 + 10 * kBlock);
  EXPECT_EQ(found.hole_bytes, 9 * kBlock);
  EXPECT_EQ(found.inline_bytes, 7u);
  EXPECT_EQ(found.chunks, 301u);
  EXPECT_EQ(found.unique_chunks, 101u);
  EXPECT_EQ(found.duplicate_chunks, 200u);
  EXPECT_EQ(found.delta_chunks, 0u);
  EXPECT_EQ(found.unique_bytes, 101 * kBlock);
  EXPECT_GE(found.stored_bytes, found.unique_bytes);  // with headers and directories
  EXPECT_LE(found.stored_bytes, found.unique_bytes * 103 / 100);
  EXPECT_NEAR(static_cast<double>(found.disk_bytes), allocated_below(path()), kLateBytes);
  EXPECT_NEAR(static_cast<double>(found.index_bytes), allocated_below(path() / kIndexDirectory), kLateBytes);
  expect_chains_up(found);
}

TEST_F(StatisticsTest, CompressionShowsInStoredBytes) {
  make(Compression());
  std::string text;
  for (int i = 0; text.size() < 100 * kBlock; ++i) text += "line " + std::to_string(i) + "\n";
  text.resize(100 * kBlock);
  make_file("text", text);

  const Statistics found = statistics();

  EXPECT_EQ(found.unique_bytes, text.size());
  EXPECT_LT(found.stored_bytes, text.size() / 2);
  EXPECT_GT(found.compression_ratio(), 2.0);
  expect_chains_up(found);
}

TEST_F(StatisticsTest, WhatWasDeletedIsGarbage) {
  make_file("kept", noise(10 * kBlock, 1));
  const InodeNumber deleted = make_file("deleted", noise(50 * kBlock, 2));
  filesystem().forget(deleted, 1);
  const Statistics before = statistics();

  ASSERT_TRUE(ok(filesystem().unlink(kRootInode, "deleted")));
  const Statistics after = statistics();

  EXPECT_EQ(after.files, 1u);
  EXPECT_EQ(after.logical_bytes, 10 * kBlock);
  EXPECT_EQ(after.chunks, 10u);
  EXPECT_EQ(after.unique_bytes, 10 * kBlock);
  EXPECT_GE(after.garbage_bytes, before.garbage_bytes + 50 * kBlock);
  EXPECT_EQ(before.stored_bytes + before.garbage_bytes, after.stored_bytes + after.garbage_bytes);
  expect_chains_up(after);
}

TEST_F(StatisticsTest, OrphansAreNotCounted) {
  make_file("kept", noise(10 * kBlock, 1));
  make_file("open", noise(50 * kBlock, 2));  // referenced until the end of the test
  ASSERT_TRUE(ok(filesystem().unlink(kRootInode, "open")));

  const Statistics found = statistics();

  EXPECT_EQ(found.files, 1u);
  EXPECT_EQ(found.logical_bytes, 10 * kBlock);
  EXPECT_EQ(found.chunks, 10u);
  EXPECT_EQ(found.unique_chunks, 10u);
  expect_chains_up(found);
}

class DeltaStatisticsTest : public StatisticsTest {
 protected:
  DeltaStatisticsTest() : file_(make_file("file", noise(100 * kBlock, 1))) { statistics(); }

  HandMadeContent content() { return HandMadeContent(filesystem().volume().database()); }

  const InodeNumber file_;
};

TEST_F(DeltaStatisticsTest, DeltasShowBetweenUniqueAndStored) {
  content().put_extent(1000, {raw_chunk(), raw_chunk(), delta_chunk(100, {1000, 1001}), delta_chunk(60, {1002})});
  content().let_be(file_, {1000, 1001, 1002, 1003, 1003});

  const Statistics found = statistics();

  EXPECT_EQ(found.unique_chunks, 4u);
  EXPECT_EQ(found.delta_chunks, 2u);
  EXPECT_EQ(found.unique_bytes, 4 * kBlock);
  EXPECT_EQ(found.delta_raw_bytes, 2 * kBlock);
  EXPECT_EQ(found.delta_bytes, 160u);
  EXPECT_EQ(found.after_delta_bytes, 2 * kBlock + 160);
  EXPECT_EQ(found.stored_bytes, kBlock + 80);
  EXPECT_EQ(found.mean_delta_bytes(), 80.0);
  EXPECT_EQ(found.similar_chunk_ratio(), 0.5);
  EXPECT_DOUBLE_EQ(found.delta_compression_efficiency(), 1.0 - 160.0 / (2 * kBlock));
  EXPECT_DOUBLE_EQ(found.delta_compression_ratio(), 4.0 * kBlock / (2 * kBlock + 160));
  EXPECT_EQ(found.base_only_chunks, 0u);
  expect_chains_up(found);
}

TEST_F(DeltaStatisticsTest, WhatOnlyADeltaNeedsIsNoGarbage) {
  const Statistics before = statistics();
  content().put_extent(1000, {raw_chunk(), raw_chunk(), raw_chunk()});
  content().put_extent(1010, {delta_chunk(100, {1001}), raw_chunk()});  // 1010: a base that is a delta itself
  content().put_extent(1020, {delta_chunk(50, {1010, 1011}), delta_chunk(70, {1030}), delta_chunk(80, {1000})});
  content().put_extent(1030, {raw_chunk(), raw_chunk()});
  content().let_be(file_, {1020, 1021});

  const Statistics found = statistics();

  EXPECT_EQ(found.delta_chunks, 2u);
  EXPECT_EQ(found.after_delta_bytes, 120u);
  EXPECT_EQ(found.stored_bytes, 60u);
  EXPECT_EQ(found.base_only_chunks, 4u) << "1001, 1010, 1011, 1030";
  EXPECT_EQ(found.base_only_bytes, (3 * kBlock + 100) / 2);
  EXPECT_EQ(found.garbage_bytes,
            before.stored_bytes + before.garbage_bytes - found.stored_bytes - found.base_only_bytes);
  expect_chains_up(found);
}

TEST_F(DeltaStatisticsTest, SourceThatFilesReferToIsCountedAsTheirs) {
  content().put_extent(1000, {raw_chunk(), delta_chunk(100, {1000})});
  content().let_be(file_, {1001, 1000});

  const Statistics found = statistics();

  EXPECT_EQ(found.base_only_chunks, 0u);
  EXPECT_EQ(found.base_only_bytes, 0u);
}

TEST_F(DeltaStatisticsTest, SourceThatCannotExistIsDamageAndNoReasonToRunOutOfMemory) {
  content().put_extent(1000, {raw_chunk(), delta_chunk(100, {1ull << 60})});

  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, compute_statistics(filesystem().volume())));
}

TEST_F(StatisticsTest, TablesOfTheIndexAreAPartOfIt) {
  make_file("file", noise(1000 * kBlock, 1));
  ASSERT_TRUE(ok(filesystem().sync()));
  reopen();  // closing empties the log into tables

  const Statistics found = statistics();

  const auto tables = [&](Family family) { return found.index_table_bytes[static_cast<std::size_t>(family)]; };
  EXPECT_GE(tables(Family::kFingerprints), 32 * 1000u);
  EXPECT_GT(tables(Family::kChunks), 0u);
  EXPECT_GT(tables(Family::kRecipes), 0u);
  EXPECT_EQ(tables(Family::kXattrs), 0u);
  EXPECT_LT(std::accumulate(found.index_table_bytes.begin(), found.index_table_bytes.end(), std::uint64_t{0}),
            found.index_bytes);
}

TEST_F(StatisticsTest, IsOfTheLastCommit) {
  statistics();
  make_file("file", noise(10 * kBlock, 1));

  EXPECT_EQ(value_of(compute_statistics(filesystem().volume())).files, 0u);
  EXPECT_EQ(statistics().files, 1u);
}

TEST_F(StatisticsTest, ChunkThatCannotExistIsDamageAndNoReasonToRunOutOfMemory) {
  const InodeNumber inode = make_file("file", noise(10 * kBlock, 1));
  statistics();
  Database& database = filesystem().volume().database();
  Database::Batch batch(database);
  batch.put(Family::kRecipes, encode_recipe_key(inode, 0),
            encode_segment({{.kind = RecipeEntry::Kind::kChunk, .length = kBlock, .chunk = ChunkId{1ull << 60}}}));
  ASSERT_TRUE(ok(database.write(batch)));

  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, compute_statistics(filesystem().volume())));
}

TEST_F(StatisticsTest, FiltersOfTheIndexAreMeasured) {
  make_file("file", noise(10 * kBlock, 1));

  const Statistics found = statistics();

  EXPECT_EQ(found.index_filters.memory_bytes, 16u << 20);
  EXPECT_GT(found.index_filters.filter_bytes, 0u);
}

}  // namespace
}  // namespace dedupfs
