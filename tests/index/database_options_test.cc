#include "index/database_options.h"

#include <gtest/gtest.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <random>
#include <sstream>

#include "base/coding.h"
#include "support/files.h"
#include "test_database.h"

namespace dedupfs {
namespace {

std::uint64_t disk_bytes(const Path& path) {
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(path)) {
    struct stat status {};
    EXPECT_EQ(::lstat(file.path().c_str(), &status), 0);
    bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

std::string varint_of(std::uint64_t number) {
  std::string value;
  Encoder(value).varint(number);
  return value;
}

class DatabaseOptionsTest : public DatabaseTest {
 protected:
  const DatabaseOptions options_ = make_database_options(16 << 20, folder_at(directory_.path() / "other"));

  const rocksdb::BlockBasedTableOptions& table_of(Family family) const {
    return *options_.families[static_cast<std::size_t>(family)]
                .table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  }
};

TEST_F(DatabaseOptionsTest, TakesLittleSpaceWhenEmpty) {
  { const auto opened = open_or_die(index()); }

  EXPECT_LT(disk_bytes(index()), 256u << 10);
}

TEST_F(DatabaseOptionsTest, MemoryStaysUnderItsCap) {
  const auto database = open_or_die(index(), {.memory_bytes = 16 << 20});
  std::mt19937_64 random(1);
  std::uint64_t highest = 0;
  std::vector<std::string> some;

  for (int round = 0; round < 80; ++round) {
    Database::Batch batch(*database);
    for (int i = 0; i < 2000; ++i) {
      std::string key(32, '\0');
      std::ranges::generate(key, [&] { return static_cast<char>(random()); });
      batch.put(Family::kFingerprints, key, "chunk id");
      batch.put(Family::kRecipes, key, key + key);
      if (i == 0) some.push_back(key);
    }
    ASSERT_TRUE(database->write(batch));
    for (const std::string& key : some) ASSERT_EQ(get(*database, key, Family::kFingerprints), "chunk id");
    highest = std::max(highest, database->memory_used_bytes());
  }

  EXPECT_LE(highest, 16u << 20);
}

TEST_F(DatabaseOptionsTest, AllFamiliesShareTheCapOfMemory) {
  EXPECT_EQ(options_.memory->GetCapacity(), 16U << 20);
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    const auto& table = table_of(static_cast<Family>(i));
    EXPECT_EQ(table.block_cache, options_.memory) << i;
    EXPECT_TRUE(table.cache_index_and_filter_blocks) << i << ": else indexes would be outside of the cap";
  }
  EXPECT_EQ(options_.database.write_buffer_manager->buffer_size(), 4U << 20);
  EXPECT_TRUE(options_.database.write_buffer_manager->cost_to_cache());
}

// The oldest library that dedupfs runs with reads format 5. RocksDB 9 would write 6 by itself, which a volume must not depend on.
TEST_F(DatabaseOptionsTest, TablesAreOfFormat5WhateverTheLibraryWouldWrite) {
  for (std::size_t i = 0; i < kFamilyCount; ++i) EXPECT_EQ(table_of(static_cast<Family>(i)).format_version, 5U) << i;
  const auto database = open_or_die(index());
  for (const Family family : {Family::kInodes, Family::kFingerprints}) {
    ASSERT_TRUE(put(*database, "key", "value", family));
    ASSERT_TRUE(database->compact(family));
  }

  int tables = 0;
  for (const auto& file : std::filesystem::directory_iterator(index())) {
    if (file.path().extension() != ".sst") continue;
    ++tables;
    // The last twelve bytes: the version, and the magic number of tables of blocks.
    const std::string content = content_of(file.path());
    ASSERT_GT(content.size(), 12U);
    EXPECT_EQ(Decoder(content.substr(content.size() - 12, 4)).u32(), 5U) << file.path();
    EXPECT_EQ(Decoder(content.substr(content.size() - 8)).u64(), 0x88e241b785f4cff7U);
  }
  EXPECT_GE(tables, 2);
}

// Each block is judged by itself when it is read.
TEST_F(DatabaseOptionsTest, NothingIsReadAhead) {
  EXPECT_EQ(options_.database.compaction_readahead_size, 0U);
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    EXPECT_EQ(table_of(static_cast<Family>(i)).initial_auto_readahead_size, 0U) << i;
    EXPECT_EQ(table_of(static_cast<Family>(i)).max_auto_readahead_size, 0U) << i;
  }
}

TEST_F(DatabaseOptionsTest, TablesHaveFiltersInTheFamiliesThatSayIt) {
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    EXPECT_EQ(table_of(family).filter_policy != nullptr, is_filtered(family)) << name_of(family);
  }
  EXPECT_TRUE(is_filtered(Family::kFingerprints)) << "most look-ups are of chunks that are new";
  EXPECT_FALSE(is_filtered(Family::kChunks)) << "which is searched for the key before";
}

TEST_F(DatabaseOptionsTest, RocksDbDoesNotRecoverByItself) {
  bool automatic = true;
  for (const auto& listener : options_.database.listeners)
    listener->OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason::kFlush, rocksdb::Status::NoSpace(), &automatic);

  EXPECT_FALSE(automatic);
}

TEST_F(DatabaseOptionsTest, WarningsAndErrorsOfRocksDbGoToOurLogAndNothingElseDoes) {
  std::ostringstream lines;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines)));
  spdlog::set_pattern("%l %v");
  rocksdb::Logger* const log = options_.database.info_log.get();
  rocksdb::Header(log, "pages of %s", "options");
  rocksdb::Info(log, "all is well");
  rocksdb::Warn(log, "%d files", 3);
  rocksdb::Error(log, "broken");
  log->SetInfoLogLevel(rocksdb::FATAL_LEVEL);
  rocksdb::Error(log, "not asked for");
  spdlog::set_default_logger(before);

  EXPECT_EQ(lines.str(), "warning index: 3 files\nerror index: broken\n");
}

// ---------------------------------------------------------------- features

TEST(FeatureFilter, DropsTheFeaturesOfChunksThatAreTooOldAndWhatIsNoFeature) {
  FeatureFilter filter;
  const auto is_dropped = [&](const std::string& value) {
    std::string changed;
    bool is_changed = false;
    return filter.Filter(0, "key", value, &changed, &is_changed);
  };

  EXPECT_FALSE(is_dropped(varint_of(0))) << "as long as nothing is to be forgotten";
  filter.oldest_id = 1000;
  EXPECT_TRUE(is_dropped(varint_of(999)));
  EXPECT_FALSE(is_dropped(varint_of(1000)));
  EXPECT_TRUE(is_dropped("")) << "no number";
  EXPECT_TRUE(is_dropped(varint_of(1000) + "x")) << "more than a number";
}

TEST_F(DatabaseOptionsTest, FeaturesThatAreForgottenGoWithACompactionAndOthersNever) {
  const auto database = open_or_die(index());
  for (const Family family : {Family::kFeatureIndex, Family::kInodes}) {
    ASSERT_TRUE(put(*database, "old", varint_of(5), family));
    ASSERT_TRUE(put(*database, "new", varint_of(20), family));
  }

  database->forget_features_before(10);
  for (const Family family : {Family::kFeatureIndex, Family::kInodes}) ASSERT_TRUE(database->compact(family));

  EXPECT_EQ(get(*database, "old", Family::kFeatureIndex), std::nullopt);
  EXPECT_EQ(get(*database, "new", Family::kFeatureIndex), varint_of(20));
  EXPECT_EQ(get(*database, "old"), varint_of(5));
}

}  // namespace
}  // namespace dedupfs
