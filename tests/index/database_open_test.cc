#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <random>

#include "index/database.h"
#include "index/database_options.h"
#include "index/log_damage.h"
#include "support/files.h"
#include "test_database.h"

namespace dedupfs {
namespace {

class DatabaseOpenTest : public DatabaseTest {
 protected:
  // An index as RocksDB alone makes it, with the first families of dedupfs and the default one.
  Path make_with_families(std::size_t count) const {
    const Path made = directory_.path() / "made";
    const DatabaseOptions options = make_database_options(Database::kMinMemoryBytes, folder_at(made));
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (std::size_t i = 0; i < count; ++i)
      families.emplace_back(std::string(name_of(static_cast<Family>(i))), options.families[i]);
    families.emplace_back(rocksdb::kDefaultColumnFamilyName, options.families[0]);
    rocksdb::DBOptions database = options.database;
    database.create_if_missing = true;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(database, made.string(), families, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> closed(opened);
    for (rocksdb::ColumnFamilyHandle* const handle : handles) closed->DestroyColumnFamilyHandle(handle);
    return made;
  }
};

TEST_F(DatabaseOpenTest, IsForItsOwnerOnly) {
  EXPECT_EQ(std::filesystem::status(index()).permissions(), std::filesystem::perms::owner_all);
  for (const auto& file : std::filesystem::directory_iterator(index()))
    EXPECT_EQ(file.status().permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << file.path();
}

// Their tools, such as ldb, would write to it otherwise, and take its log away.
TEST_F(DatabaseOpenTest, IsLockedForOtherProgramsOfRocksDb) {
  const auto database = open_or_die(index());
  const auto own = rocksdb::FileSystem::Default();
  rocksdb::FileLock* lock = nullptr;

  EXPECT_FALSE(own->LockFile((index() / "LOCK").string(), {}, &lock, nullptr).ok());
  EXPECT_EQ(lock, nullptr);
}

TEST_F(DatabaseOpenTest, IsNotCreatedOverAnother) {
  const auto again = Database::create(folder_at(index()));

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kExists);
}

TEST_F(DatabaseOpenTest, MissingIsNotFoundAndNotMade) {
  const auto empty = folder_at(directory_.path() / "other");
  for (const bool read_only : {false, true}) {
    const auto opened = Database::open(empty, {.read_only = read_only});

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::kNotFound);
    EXPECT_TRUE(empty->list()->empty());
  }
}

TEST_F(DatabaseOpenTest, WhatWasWrittenSurvivesACrash) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "1"));

  const auto recovered = open_or_die(crash());

  EXPECT_EQ(get(*recovered, "a"), "1");
}

TEST_F(DatabaseOpenTest, ReadOnlySeesTheLogOfACrashAndWritesNothing) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "1"));
  const Path crashed = crash();
  const auto before = listing(crashed);

  {
    const auto reader = open_or_die(crashed, {.read_only = true});
    EXPECT_EQ(get(*reader, "a"), "1");
    const auto written = put(*reader, "b", "2");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::kReadOnly);
  }

  EXPECT_EQ(listing(crashed), before);
}

TEST_F(DatabaseOpenTest, ClosingLeavesNothingToReplay) {
  ASSERT_TRUE(put(*open_or_die(index()), "a", "1"));

  for (const auto& file : std::filesystem::directory_iterator(index()))
    EXPECT_FALSE(file.path().extension() == ".log" && file.file_size() != 0) << file.path();
  EXPECT_EQ(get(*open_or_die(index()), "a"), "1");
}

// RocksDB kept the empty log of every session in which nothing had been written.
TEST_F(DatabaseOpenTest, IdleSessionsLeaveNoFiles) {
  for (int session = 0; session < 10; ++session) open_or_die(index()).reset();

  const auto files = listing(index());
  EXPECT_EQ(std::ranges::count_if(files, [](const auto& file) { return file.first.ends_with(".log"); }), 1);
  EXPECT_LT(files.size(), 20u);
}

// A power cut may leave any part of the last batch, which nobody was told of, and all of those before.
TEST_F(DatabaseOpenTest, TornEndOfTheLogIsDropped) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "1"));
  const auto whole_bytes = std::filesystem::file_size(log_with_content(index()));
  ASSERT_TRUE(put(*database, "b", std::string(100'000, 'b')));
  const auto torn_bytes = std::filesystem::file_size(log_with_content(index())) - whole_bytes;
  std::mt19937_64 random(1);

  for (int i = 0; i < 20; ++i) {
    const Path crashed = crash("crashed" + std::to_string(i));
    const Path log = log_with_content(crashed);
    const auto keep = whole_bytes + random() % torn_bytes;
    if (i % 2 == 0) {
      std::filesystem::resize_file(log, keep);
    } else {  // the file is as long as it should be, but a page of it is zeros
      overwrite_at(log, keep, std::string(std::min<std::size_t>(4096, whole_bytes + torn_bytes - keep), '\0'));
    }

    const auto recovered = open_or_die(crashed);

    ASSERT_NE(recovered, nullptr) << "log kept until " << keep;
    EXPECT_EQ(get(*recovered, "a"), "1");
    EXPECT_EQ(get(*recovered, "b"), std::nullopt);
    ASSERT_TRUE(put(*recovered, "c", "3"));  // and goes on
    const auto again = open_or_die(Path(crashed), {.read_only = true});
    EXPECT_EQ(get(*again, "c"), "3");
  }
}

// What was synced must not go silently: damage inside the log is no torn end.
TEST_F(DatabaseOpenTest, DamageInsideTheLogIsRefusedForWritingAndLeftForReading) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "1"));
  const auto whole_bytes = std::filesystem::file_size(log_with_content(index()));
  ASSERT_TRUE(put(*database, "b", std::string(100'000, 'b')));
  ASSERT_TRUE(put(*database, "c", "3"));
  const Path crashed = crash();
  overwrite_at(log_with_content(crashed), whole_bytes + 1000, "damage");

  const auto writer = Database::open(folder_at(crashed), {});
  const auto reader = open_or_die(crashed, {.read_only = true});

  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(writer.error().message().find(crashed.string()), std::string::npos);
  EXPECT_EQ(get(*reader, "a"), "1");
  EXPECT_EQ(get(*reader, "c"), std::nullopt);
}

// RocksDB itself passes over the rest of a block of the log.
TEST_F(DatabaseOpenTest, AFlippedBitInTheMiddleOfTheLogIsNotPassedOver) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "1"));
  const auto begin = std::filesystem::file_size(log_with_content(index()));
  ASSERT_TRUE(put(*database, "b", "2"));
  const auto end = std::filesystem::file_size(log_with_content(index()));
  ASSERT_TRUE(put(*database, "c", "3"));

  for (auto at = begin; at < end; ++at) {
    const Path crashed = crash("flipped" + std::to_string(at));
    flip_bit(log_with_content(crashed), at);

    const auto writer = Database::open(folder_at(crashed), {});

    ASSERT_FALSE(writer) << "byte " << at - begin << " of the record";
    EXPECT_EQ(writer.error().code(), ErrorCode::kCorruption);
    EXPECT_EQ(get(*open_or_die(crashed, {.read_only = true}), "a"), "1");
  }
  const Path zeroed = crash("zeroed");
  overwrite_at(log_with_content(zeroed), begin, std::string(end - begin, '\0'));
  EXPECT_FALSE(Database::open(folder_at(zeroed), {}));
  EXPECT_EQ(get(*open_or_die(crash("whole")), "c"), "3");
}

TEST_F(DatabaseOpenTest, MissingTableIsCorruption) {
  ASSERT_TRUE(put(*open_or_die(index()), "a", "1"));
  for (const auto& file : std::filesystem::directory_iterator(index()))
    if (file.path().extension() == ".sst") std::filesystem::remove(file.path());

  const auto opened = Database::open(folder_at(index()), {});

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption);
}

TEST_F(DatabaseOpenTest, WhatACrashLeftOfATrialOfTheDiskGoes) {
  const Path left = index() / "000001.dbtmp";
  std::ofstream(left) << "zeros";

  open_or_die(index()).reset();

  EXPECT_FALSE(std::filesystem::exists(left));
}

// Volumes of before there were snapshots.
TEST_F(DatabaseOpenTest, FamiliesThatAreMissingAreEmptyForReadingAndMadeForWriting) {
  const Path old = make_with_families(kFirstFamilyCount);
  const auto before = listing(old);
  {
    const auto reader = open_or_die(old, {.read_only = true});
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(get(*reader, "a", Family::kSnapshots), std::nullopt);
    EXPECT_TRUE(reader->list(Family::kBeforeImages, {}, {}, 10)->empty());
  }
  EXPECT_EQ(listing(old), before);

  ASSERT_TRUE(put(*open_or_die(old), "a", "1", Family::kSnapshots));

  EXPECT_EQ(get(*open_or_die(old, {.read_only = true}), "a", Family::kSnapshots), "1");
}

TEST_F(DatabaseOpenTest, ADatabaseWithoutOurFamiliesIsCorruption) {
  const Path foreign = make_with_families(3);

  const auto opened = Database::open(folder_at(foreign), {.read_only = true});

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption);
}

TEST_F(DatabaseOpenTest, TakesTheLeastMemoryWhereLessIsAskedFor) {
  EXPECT_EQ(open_or_die(index(), {.memory_bytes = 1})->filter_memory().memory_bytes, Database::kMinMemoryBytes);
}

// ---------------------------------------------------------------- the log, looked at from outside

TEST_F(DatabaseOpenTest, ChangesBehindDamageAreCounted) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "1"));
  const auto whole_bytes = std::filesystem::file_size(log_with_content(index()));
  ASSERT_TRUE(put(*database, "b", std::string(100'000, 'b')));
  ASSERT_TRUE(put(*database, "c", "3"));
  ASSERT_TRUE(put(*database, "d", "4"));
  const Path sound = crash("sound");
  const Path torn = crash("torn");
  std::filesystem::resize_file(log_with_content(torn), whole_bytes + 1000);
  const Path damaged = crash("damaged");
  overwrite_at(log_with_content(damaged), whole_bytes + 1000, "damage");
  const auto before = listing(damaged);

  EXPECT_EQ(changes_behind_damage(*folder_at(sound)).value(), 0U);
  EXPECT_EQ(changes_behind_damage(*folder_at(torn)).value(), 0U) << "which nobody was told of";
  EXPECT_GE(changes_behind_damage(*folder_at(damaged)).value(), 2U);
  EXPECT_EQ(listing(damaged), before);
}

TEST_F(DatabaseOpenTest, AClosedDatabaseHasNoChangesBehindDamage) {
  ASSERT_TRUE(put(*open_or_die(index()), "a", "1"));

  EXPECT_EQ(changes_behind_damage(*folder_at(index())).value(), 0U);
}

// ---------------------------------------------------------------- the tables, looked at from outside

TEST_F(DatabaseOpenTest, TablesAreToldWithTheRangesOfTheirKeys) {
  {
    const auto database = open_or_die(index());
    for (const char* key : {"beech", "ash", "elm"}) ASSERT_TRUE(put(*database, key, "tree"));
  }

  const auto tables = Database::tables(folder_at(index())).value();

  const auto found = std::ranges::find(tables, "ash", &Database::Table::first_key);
  ASSERT_NE(found, tables.end());
  EXPECT_EQ(found->last_key, "elm");
  EXPECT_GE(found->last_change, 3U);
  EXPECT_TRUE(std::filesystem::exists(index() / found->name));
}

TEST_F(DatabaseOpenTest, TablesThatAreGoneAreToldToo) {
  ASSERT_TRUE(put(*open_or_die(index()), "a", "1"));
  const auto before = Database::tables(folder_at(index())).value();
  ASSERT_FALSE(before.empty());
  for (const auto& table : before) std::filesystem::remove(index() / table.name);

  const auto after = Database::tables(folder_at(index()));

  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(after->size(), before.size());
}

TEST_F(DatabaseOpenTest, WhereThereIsNoDatabaseThereAreNoTables) {
  EXPECT_TRUE(Database::tables(folder_at(directory_.path() / "other")).value().empty());
}

// ---------------------------------------------------------------- what repair reads of an index that was left in the middle of something

class DamagedDatabaseTest : public testing::Test {
 protected:
  // Two logs, of which the manifest names the first: a family has been flushed, and another has not.
  DamagedDatabaseTest() {
    EXPECT_TRUE(Database::create(folder_at(made())));
    const DatabaseOptions options = make_database_options(Database::kMinMemoryBytes, folder_at(made()));
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (std::size_t i = 0; i < kFamilyCount; ++i)
      families.emplace_back(std::string(name_of(static_cast<Family>(i))), options.families[i]);
    families.emplace_back(rocksdb::kDefaultColumnFamilyName, options.families[0]);
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options.database, made().string(), families, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> database(opened);
    rocksdb::WriteOptions synced;
    synced.sync = true;
    EXPECT_TRUE(database->Put(synced, handles[at(Family::kInodes)], "flushed", "1").ok());
    EXPECT_TRUE(database->Put(synced, handles[at(Family::kDirents)], "in the first log", "2").ok());
    EXPECT_TRUE(database->Flush({}, handles[at(Family::kInodes)]).ok());
    EXPECT_TRUE(database->Put(synced, handles[at(Family::kDirents)], "in the second log", "3").ok());
    std::filesystem::copy(made(), left(), std::filesystem::copy_options::recursive);
    for (rocksdb::ColumnFamilyHandle* const handle : handles) database->DestroyColumnFamilyHandle(handle);
  }

  static std::size_t at(Family family) { return static_cast<std::size_t>(family); }
  Path made() const { return directory_.path() / "made"; }
  Path left() const { return directory_.path() / "left"; }
  std::vector<Path> logs() const {
    std::vector<Path> logs;
    for (const auto& file : std::filesystem::directory_iterator(left()))
      if (file.path().extension() == ".log") logs.push_back(file.path());
    std::ranges::sort(logs);
    return logs;
  }
  Result<std::unique_ptr<Database>> open_damaged() const {
    return Database::open(folder_at(left()),
                          {.memory_bytes = Database::kMinMemoryBytes, .read_only = true, .damaged = true});
  }

 private:
  TempDir directory_;
};

TEST_F(DamagedDatabaseTest, AllLogsThatTheManifestNamesAreRead) {
  ASSERT_GE(logs().size(), 2U);
  const auto database = open_damaged();
  ASSERT_TRUE(database) << database.error().message();
  EXPECT_EQ((*database)->get(Family::kInodes, "flushed").value(), "1");
  EXPECT_EQ((*database)->get(Family::kDirents, "in the first log").value(), "2");
  EXPECT_EQ((*database)->get(Family::kDirents, "in the second log").value(), "3");
}

TEST_F(DamagedDatabaseTest, ALogThatTheManifestNamesAndThatIsGoneIsAnError) {
  ASSERT_GE(logs().size(), 2U);
  std::filesystem::remove(logs()[logs().size() - 2]);
  const auto database = open_damaged();
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace dedupfs
