#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <random>

#include "busy_flush_threads.h"
#include "index/database.h"
#include "support/faulty_backing.h"
#include "test_database.h"

namespace dedupfs {
namespace {

class DatabaseWriteTest : public DatabaseTest {
 protected:
  // The database on a disk on which one kind of operation on files with such names fails, as long as it is told to.
  std::unique_ptr<Database> open_faulty(const std::string& operation, const std::string& name_end, ErrorCode code) {
    backing_->fault = [=, this](const std::string& asked, const Path& path) -> std::optional<Error> {
      if (!fails_ || asked != operation || !path.string().ends_with(name_end)) return std::nullopt;
      return Error{code, "told to fail"};
    };
    return std::move(Database::open(backing_->open_root(index()).value(), {}).value());
  }

  std::shared_ptr<FaultyBacking> backing_ = std::make_shared<FaultyBacking>();
  std::atomic<bool> fails_ = false;
};

TEST_F(DatabaseWriteTest, LaterChangeOfABatchCounts) {
  const auto database = open_or_die(index());
  Database::Batch batch(*database);
  EXPECT_TRUE(batch.empty());
  batch.put(Family::kInodes, "a", "1");
  batch.erase(Family::kInodes, "a");
  batch.put(Family::kInodes, "b", "1");
  batch.put(Family::kInodes, "b", "2");
  EXPECT_FALSE(batch.empty());

  ASSERT_TRUE(database->write(batch));

  EXPECT_EQ(get(*database, "a"), std::nullopt);
  EXPECT_EQ(get(*database, "b"), "2");
}

// Also in a database that has nothing to flush: there RocksDB's Resume() went on with the log that had been cut off.
TEST_F(DatabaseWriteTest, GoesOnWhenAFullDiskHasSpaceAgain) {
  for (const bool had_content : {false, true}) {
    const SmallDisk disk(directory_.path() / "disk");
    if (!disk.is_there()) GTEST_SKIP() << "mounting needs root";
    const Path path = directory_.path() / "disk" / "index";
    ASSERT_TRUE(Database::create(folder_at(path)));
    auto database = open_or_die(path);
    if (had_content) {
      ASSERT_TRUE(put(*database, "before", "0"));
    }

    disk.fill();
    const std::string large(100'000, 'x');
    for (int i = 0; i < 3; ++i) {
      const auto full = put(*database, "large", large);
      ASSERT_FALSE(full);
      EXPECT_EQ(full.error().code(), ErrorCode::kNoSpace) << full.error().message();
    }
    EXPECT_EQ(get(*database, "before").has_value(), had_content);  // reading goes on
    disk.make_space();
    for (const auto* key : {"a", "b"}) {
      const auto written = put(*database, key, large);
      EXPECT_TRUE(written) << written.error().message() << (had_content ? "" : ", in an empty database");
    }
    const auto recovered = open_or_die(crash_of(path, had_content ? "crashed1" : "crashed0"));

    for (const auto* key : {"a", "b"}) EXPECT_TRUE(get(*recovered, key) == large) << key;
  }
}

TEST_F(DatabaseWriteTest, AFlushThatIsDueIsNotForgottenWhenAWriteFails) {
  const SmallDisk disk(directory_.path() / "disk");
  if (!disk.is_there()) GTEST_SKIP() << "mounting needs root";
  const Path path = directory_.path() / "disk" / "index";
  ASSERT_TRUE(Database::create(folder_at(path)));
  const auto database =
      open_or_die(path, {.memory_bytes = Database::kMinMemoryBytes, .patience = std::chrono::seconds(10)});
  // More than a memtable holds: RocksDB wants to flush it when the next write comes.
  const std::string large(Database::kMinMemoryBytes / 6, 'x');
  ASSERT_TRUE(put(*database, "before", large));
  disk.fill();

  BusyFlushThreads busy;
  auto full = std::async(std::launch::async, [&] { return put(*database, "large", large); });
  full.wait_for(std::chrono::seconds(1));  // for a write that does not wait for the flush to fail
  busy.end();
  ASSERT_FALSE(full.get());
  disk.make_space();

  const auto written = put(*database, "large", large);
  EXPECT_TRUE(written) << written.error().message();
  EXPECT_TRUE(get(*database, "before") == large);
}

TEST_F(DatabaseWriteTest, LosesNothingWhileTheDiskIsFullAgainAndAgain) {
  const SmallDisk disk(directory_.path() / "disk");
  if (!disk.is_there()) GTEST_SKIP() << "mounting needs root";
  const Path path = directory_.path() / "disk" / "index";
  ASSERT_TRUE(Database::create(folder_at(path)));
  auto database = open_or_die(path, {.memory_bytes = Database::kMinMemoryBytes});
  std::map<std::string, std::string> model;
  std::mt19937_64 random(1);
  int failures = 0;

  for (int round = 0; round < 11; ++round) {
    disk.fill();
    if (round % 2 == 0) disk.make_space(random() % 100'000);
    for (int i = 0; i < 5; ++i) {
      const std::string key = std::to_string(random() % 10);
      const std::string value(random() % 30'000, static_cast<char>('a' + round % 26));
      if (put(*database, key, value)) {
        model[key] = value;
      } else {
        ++failures;
        disk.make_space();
        auto again = put(*database, key, value);
        if (!again &&
            again.error().code() == ErrorCode::kIo) {  // "mount the volume again": RocksDB cannot go on by itself
          database.reset();
          database = open_or_die(path, {.memory_bytes = Database::kMinMemoryBytes});
          again = put(*database, key, value);
        }
        ASSERT_TRUE(again) << "round " << round << ": " << again.error().message();
        model[key] = value;
        disk.fill();
      }
    }
    disk.make_space();
    if (round % 7 == 0) {
      database.reset();
      database = open_or_die(path, {.memory_bytes = Database::kMinMemoryBytes});
    }
    if (round % 10 == 0) {
      const Path crashed = crash_of(path, "crashed" + std::to_string(round));
      const auto recovered = open_or_die(crashed);
      for (const auto& [key, value] : model) ASSERT_TRUE(get(*recovered, key) == value) << key << " in round " << round;
    }
  }

  EXPECT_GT(failures, 5);
}

TEST_F(DatabaseWriteTest, ABatchKnowsHowLargeItIs) {
  const auto database = open_or_die(index());
  Database::Batch batch(*database);
  batch.put(Family::kInodes, "a", std::string(1000, 'x'));
  const std::size_t one = batch.size_bytes();
  EXPECT_GE(one, 1001U);
  batch.erase(Family::kInodes, "b");
  EXPECT_GT(batch.size_bytes(), one);

  Database::Batch moved = std::move(batch);

  EXPECT_FALSE(moved.empty());
  ASSERT_TRUE(database->write(moved));
  EXPECT_EQ(get(*database, "a"), std::string(1000, 'x'));
}

TEST_F(DatabaseWriteTest, ABatchThatFailedForLackOfSpaceIsWrittenAsAWholeOrNotAndCanBeWrittenAgain) {
  const auto database = open_faulty("write", ".log", ErrorCode::kNoSpace);
  ASSERT_TRUE(put(*database, "before", "0"));
  Database::Batch batch(*database);
  batch.put(Family::kInodes, "a", "1");
  batch.put(Family::kDirents, "b", "2");

  fails_ = true;
  for (int i = 0; i < 2; ++i) {
    const auto written = database->write(batch);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::kNoSpace) << written.error().message();
  }
  const auto crashed = open_or_die(crash());
  EXPECT_EQ(get(*crashed, "before"), "0");
  EXPECT_EQ(get(*crashed, "a"), std::nullopt);
  EXPECT_EQ(get(*crashed, "b", Family::kDirents), std::nullopt);
  fails_ = false;

  const auto written = database->write(batch);
  ASSERT_TRUE(written) << written.error().message();
  const auto recovered = open_or_die(crash("recovered"));
  EXPECT_EQ(get(*recovered, "a"), "1");
  EXPECT_EQ(get(*recovered, "b", Family::kDirents), "2");
}

// Nobody knows what is on the disk then.
TEST_F(DatabaseWriteTest, AfterASyncThatFailedNothingIsWrittenAndReadingGoesOn) {
  auto database = open_faulty("datasync", ".log", ErrorCode::kIo);
  ASSERT_TRUE(put(*database, "before", "0"));
  fails_ = true;
  EXPECT_FALSE(put(*database, "a", "1"));
  fails_ = false;

  const auto after = put(*database, "b", "2");

  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().code(), ErrorCode::kIo) << after.error().message();
  EXPECT_EQ(get(*database, "before"), "0");
  database.reset();
  database = open_or_die(index());
  EXPECT_EQ(get(*database, "before"), "0");
  EXPECT_EQ(get(*database, "b"), std::nullopt);
  EXPECT_TRUE(put(*database, "b", "2"));
}

// ---------------------------------------------------------------- empty_log()

TEST_F(DatabaseWriteTest, EmptyingTheLogPutsItsContentIntoTables) {
  const auto database = open_or_die(index());
  const auto is_in_a_table = [&](std::string_view key) {
    const auto tables = Database::tables(folder_at(crash("looked at"))).value();
    std::filesystem::remove_all(directory_.path() / "looked at");
    return std::ranges::any_of(
        tables, [&](const Database::Table& table) { return table.first_key <= key && key <= table.last_key; });
  };
  ASSERT_TRUE(put(*database, "a", "1"));
  EXPECT_FALSE(is_in_a_table("a"));

  ASSERT_TRUE(database->empty_log());

  EXPECT_TRUE(is_in_a_table("a"));
  EXPECT_EQ(get(*database, "a"), "1");
  EXPECT_TRUE(database->empty_log()) << "with nothing to do";
  ASSERT_TRUE(put(*database, "b", "2"));
  EXPECT_EQ(get(*open_or_die(crash()), "b"), "2");
}

TEST_F(DatabaseWriteTest, TheLogIsNotEmptiedWhereTheTablesWouldNotFit) {
  const auto database = open_faulty("write", ".dbtmp", ErrorCode::kNoSpace);
  ASSERT_TRUE(put(*database, "a", "1"));

  fails_ = true;
  const auto emptied = database->empty_log();
  fails_ = false;

  ASSERT_FALSE(emptied);
  EXPECT_EQ(emptied.error().code(), ErrorCode::kNoSpace);
  EXPECT_FALSE(std::filesystem::exists(index() / "000001.dbtmp")) << "what was written on trial";
  EXPECT_TRUE(put(*database, "b", "2")) << "writing was not stopped";
  EXPECT_TRUE(database->empty_log());
  EXPECT_FALSE(std::filesystem::exists(index() / "000001.dbtmp"));
}

// RocksDB removes what it does not know when a copy of the index is done.
TEST_F(DatabaseWriteTest, TheFileThatIsWrittenOnTrialMayBeGone) {
  const auto database = open_faulty("unlink", "000001.dbtmp", ErrorCode::kNotFound);
  ASSERT_TRUE(put(*database, "a", "1"));

  fails_ = true;
  const auto emptied = database->empty_log();

  EXPECT_TRUE(emptied) << emptied.error().message();
}

}  // namespace
}  // namespace dedupfs
