#include "index/database.h"

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <random>

#include "support/crash_copy.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"
#include "support/units.h"

namespace dedupfs {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Database> open_or_die(const Path& path, const Database::Settings& settings = {}) {
  auto database = Database::open(folder_at(path), settings);
  EXPECT_TRUE(database) << database.error().message();
  return database ? std::move(*database) : nullptr;
}

Result<void> put(Database& database, std::string_view key, std::string_view value, Family family = Family::kInodes) {
  Database::Batch batch(database);
  batch.put(family, key, value);
  return database.write(batch);
}

std::optional<std::string> get(const Database& database, std::string_view key, Family family = Family::kInodes) {
  auto value = database.get(family, key);
  EXPECT_TRUE(value) << value.error().message();
  return value ? *value : std::nullopt;
}

std::vector<std::string> keys_of(const Result<std::vector<KeyValue>>& entries) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : entries.value()) keys.push_back(key);
  return keys;
}

std::optional<std::string> key_of(const Result<std::optional<KeyValue>>& entry) {
  if (!entry.value()) return std::nullopt;
  return (*entry)->first;
}

std::uint64_t disk_bytes(const Path& path) {
  std::uint64_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(path)) {
    struct stat status {};
    EXPECT_EQ(::lstat(file.path().c_str(), &status), 0);
    bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

std::map<std::string, std::pair<std::uintmax_t, fs::file_time_type>> listing(const Path& path) {
  std::map<std::string, std::pair<std::uintmax_t, fs::file_time_type>> files;
  for (const auto& file : fs::directory_iterator(path))
    files[file.path().filename()] = {file.file_size(), file.last_write_time()};
  return files;
}

Path log_with_content(const Path& index) {
  for (const auto& file : fs::directory_iterator(index))
    if (file.path().extension() == ".log" && file.file_size() != 0) return file.path();
  ADD_FAILURE() << "no log in " << index;
  return {};
}

void overwrite_at(const Path& file, std::uint64_t offset, const std::string& bytes) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream << bytes;
  ASSERT_TRUE(stream.good());
}

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto created = Database::create(folder_at(index()));
    ASSERT_TRUE(created) << created.error().message();
  }

  // What a crash now would leave: a copy of the files, with the log not yet turned into tables.
  Path crash(const std::string& name = "crashed") const { return crash_of(index(), name); }
  Path crash_of(const Path& database, const std::string& name) const {
    const Path copy = directory_.path() / name;
    crash_copy(database, copy);
    return copy;
  }

  Path index() const { return directory_.path() / "index"; }

  TempDir directory_;
};

TEST_F(DatabaseTest, TakesLittleSpaceWhenEmpty) {
  { const auto opened = open_or_die(index()); }

  EXPECT_LT(disk_bytes(index()), 256u << 10);
}

TEST_F(DatabaseTest, IsForItsOwnerOnly) {
  EXPECT_EQ(fs::status(index()).permissions(), fs::perms::owner_all);
  for (const auto& file : fs::directory_iterator(index()))
    EXPECT_EQ(file.status().permissions(), fs::perms::owner_read | fs::perms::owner_write) << file.path();
}

TEST_F(DatabaseTest, IsNotCreatedOverAnother) {
  const auto again = Database::create(folder_at(index()));

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kExists);
}

TEST_F(DatabaseTest, MissingIsNotFoundAndNotMade) {
  const auto empty = folder_at(directory_.path() / "other");
  for (const bool read_only : {false, true}) {
    const auto opened = Database::open(empty, {.read_only = read_only});

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::kNotFound);
    EXPECT_TRUE(empty->list()->empty());
  }
}

TEST_F(DatabaseTest, EachFamilyKeepsItsOwn) {
  {
    const auto database = open_or_die(index());
    Database::Batch batch(*database);
    for (std::size_t i = 0; i < kFamilyCount; ++i)
      batch.put(static_cast<Family>(i), "key", name_of(static_cast<Family>(i)));
    ASSERT_TRUE(database->write(batch));
  }

  const auto database = open_or_die(index());

  for (std::size_t i = 0; i < kFamilyCount; ++i)
    EXPECT_EQ(get(*database, "key", static_cast<Family>(i)), name_of(static_cast<Family>(i)));
}

TEST_F(DatabaseTest, LaterChangeOfABatchCounts) {
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

TEST_F(DatabaseTest, ListsBetweenBounds) {
  const auto database = open_or_die(index());
  for (const auto* key : {"a", "b", "ba", "c"}) ASSERT_TRUE(put(*database, key, "x"));
  const auto list = [&](std::string_view from, std::string_view end, std::size_t limit) {
    return keys_of(database->list(Family::kInodes, from, end, limit));
  };
  using Keys = std::vector<std::string>;

  EXPECT_EQ(list("", "", 10), Keys({"a", "b", "ba", "c"}));
  EXPECT_EQ(list("", "", 2), Keys({"a", "b"}));
  EXPECT_EQ(list("b", "c", 10), Keys({"b", "ba"}));
  EXPECT_EQ(list("bb", "", 10), Keys({"c"}));
  EXPECT_EQ(list("a", "", 0), Keys());
  EXPECT_EQ(list("c", "a", 10), Keys());
}

TEST_F(DatabaseTest, FindsTheEntryBefore) {
  const auto database = open_or_die(index());
  for (const auto* key : {"b", "d"}) ASSERT_TRUE(put(*database, key, "x"));
  const auto at_or_before = [&](std::string_view key, std::string_view from = {}) {
    return key_of(database->find_at_or_before(Family::kInodes, key, from));
  };
  const auto before = [&](std::string_view key, std::string_view from = {}) {
    return key_of(database->find_before(Family::kInodes, key, from));
  };

  EXPECT_EQ(at_or_before("a"), std::nullopt);
  EXPECT_EQ(at_or_before("b"), "b");
  EXPECT_EQ(at_or_before("c"), "b");
  EXPECT_EQ(at_or_before("z"), "d");
  EXPECT_EQ(at_or_before("c", "b"), "b");
  EXPECT_EQ(at_or_before("c", "bb"), std::nullopt);
  EXPECT_EQ(before("b"), std::nullopt);
  EXPECT_EQ(before("d"), "b");
  EXPECT_EQ(before("d", "c"), std::nullopt);
  EXPECT_EQ(before("z"), "d");
  EXPECT_EQ(before(""), std::nullopt);
}

TEST_F(DatabaseTest, SnapshotDoesNotMove) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "old"));
  const auto snapshot = database->snapshot();
  ASSERT_TRUE(put(*database, "a", "new"));
  ASSERT_TRUE(put(*database, "b", "new"));

  std::vector<KeyValue> seen;
  const auto walked = database->walk(*snapshot, Family::kInodes, [&](std::string_view key, std::string_view value) {
    seen.emplace_back(key, value);
    return true;
  });

  ASSERT_TRUE(walked);
  EXPECT_EQ(seen, (std::vector<KeyValue>{{"a", "old"}}));
}

TEST_F(DatabaseTest, WalkEndsWhenToldTo) {
  const auto database = open_or_die(index());
  for (const auto* key : {"a", "b", "c"}) ASSERT_TRUE(put(*database, key, "x"));

  int visits = 0;
  const auto walked = database->walk(*database->snapshot(), Family::kInodes,
                                     [&](std::string_view, std::string_view) { return ++visits < 2; });

  ASSERT_TRUE(walked);
  EXPECT_EQ(visits, 2);
}

TEST_F(DatabaseTest, WhatWasWrittenSurvivesACrash) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "1"));

  const auto recovered = open_or_die(crash());

  EXPECT_EQ(get(*recovered, "a"), "1");
}

TEST_F(DatabaseTest, ReadOnlySeesTheLogOfACrashAndWritesNothing) {
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

TEST_F(DatabaseTest, ClosingLeavesNothingToReplay) {
  ASSERT_TRUE(put(*open_or_die(index()), "a", "1"));

  for (const auto& file : fs::directory_iterator(index()))
    EXPECT_FALSE(file.path().extension() == ".log" && file.file_size() != 0) << file.path();
  EXPECT_EQ(get(*open_or_die(index()), "a"), "1");
}

// RocksDB kept the empty log of every session in which nothing had been written.
TEST_F(DatabaseTest, IdleSessionsLeaveNoFiles) {
  for (int session = 0; session < 10; ++session) open_or_die(index()).reset();

  const auto files = listing(index());
  EXPECT_EQ(std::ranges::count_if(files, [](const auto& file) { return file.first.ends_with(".log"); }), 1);
  EXPECT_LT(files.size(), 20u);
}

// A power cut may leave any part of the last batch, which nobody was told of, and all of those before.
TEST_F(DatabaseTest, TornEndOfTheLogIsDropped) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "1"));
  const auto whole_bytes = fs::file_size(log_with_content(index()));
  ASSERT_TRUE(put(*database, "b", std::string(100'000, 'b')));
  const auto torn_bytes = fs::file_size(log_with_content(index())) - whole_bytes;
  std::mt19937_64 random(1);

  for (int i = 0; i < 20; ++i) {
    const Path crashed = crash("crashed" + std::to_string(i));
    const Path log = log_with_content(crashed);
    const auto keep = whole_bytes + random() % torn_bytes;
    if (i % 2 == 0) {
      fs::resize_file(log, keep);
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
TEST_F(DatabaseTest, DamageInsideTheLogIsRefusedForWritingAndLeftForReading) {
  const auto database = open_or_die(index());
  ASSERT_TRUE(put(*database, "a", "1"));
  const auto whole_bytes = fs::file_size(log_with_content(index()));
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

TEST_F(DatabaseTest, DamagedTableIsCorruption) {
  {
    const auto database = open_or_die(index());
    Database::Batch batch(*database);
    std::mt19937 random(1);
    std::string value(32, '\0');  // compressed, the table is a large one still
    for (int i = 0; i < 1000; ++i) {
      for (char& byte : value) byte = static_cast<char>(random());
      batch.put(Family::kFingerprints, "key" + std::to_string(i), value);
    }
    ASSERT_TRUE(database->write(batch));
  }
  for (const auto& file : fs::directory_iterator(index()))
    if (file.path().extension() == ".sst" && file.file_size() > 10'000) overwrite_at(file.path(), 100, "damage");

  const auto database = open_or_die(index());
  ASSERT_NE(database, nullptr);
  const auto value = database->get(Family::kFingerprints, "key0");
  const auto walked = database->walk(*database->snapshot(), Family::kFingerprints,
                                     [](std::string_view, std::string_view) { return true; });

  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code(), ErrorCode::kCorruption);
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().code(), ErrorCode::kCorruption);
}

TEST_F(DatabaseTest, MissingTableIsCorruption) {
  ASSERT_TRUE(put(*open_or_die(index()), "a", "1"));
  for (const auto& file : fs::directory_iterator(index()))
    if (file.path().extension() == ".sst") fs::remove(file.path());

  const auto opened = Database::open(folder_at(index()), {});

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption);
}

TEST_F(DatabaseTest, MemoryStaysUnderItsCap) {
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

// A small file system of its own, which can be full.
class SmallDisk {
 public:
  explicit SmallDisk(const Path& at) : path_(at) {
    fs::create_directory(at);
    mounted_ = ::mount("dedupfs-test", at.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }

  bool is_there() const { return mounted_; }
  void fill() const {
    std::ofstream ballast(path_ / "ballast", std::ios::binary);
    const std::string block(4096, 'x');
    while (ballast.write(block.data(), 4096).flush()) {
    }
  }
  void make_space() const { fs::remove(path_ / "ballast"); }
  void make_space(std::uint64_t bytes) const {
    const auto held = fs::file_size(path_ / "ballast");
    fs::resize_file(path_ / "ballast", held - std::min<std::uint64_t>(bytes, held));
  }

 private:
  Path path_;
  bool mounted_ = false;
};

TEST_F(DatabaseTest, WhatACrashLeftOfATrialOfTheDiskGoes) {
  const Path left = index() / "000001.dbtmp";
  std::ofstream(left) << "zeros";

  open_or_die(index()).reset();

  EXPECT_FALSE(fs::exists(left));
}

TEST(FilterMemory, SaysHowMuchWouldServeWhereFiltersOutgrowIt) {
  const auto enough = Database::filter_memory_of(100 * kMiB, 256 * kMiB);
  EXPECT_NEAR(static_cast<double>(enough.filter_bytes), 112.5 * kMiB, kMiB);
  EXPECT_EQ(enough.wanted_bytes, 0u);

  const auto little = Database::filter_memory_of(400 * kMiB, 256 * kMiB);
  EXPECT_EQ(little.memory_bytes, 256 * kMiB);
  EXPECT_EQ(little.wanted_bytes, 768 * kMiB);
  EXPECT_EQ(Database::filter_memory_of(400 * kMiB, little.wanted_bytes).wanted_bytes, 0u);
}

TEST_F(DatabaseTest, TracesOfWhatWasErasedAreCountedAndCompactedAway) {
  auto database = open_or_die(index());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(put(*database, std::to_string(i), "value"));
  EXPECT_EQ(*database->tombstone_share(Family::kInodes), 0.0);
  Database::Batch batch(*database);
  for (int i = 0; i < 50; ++i) batch.erase(Family::kInodes, std::to_string(i));
  ASSERT_TRUE(database->write(batch));
  EXPECT_NEAR(*database->tombstone_share(Family::kInodes), 50.0 / 150, 0.01);  // in memory
  database.reset();
  database = open_or_die(index());
  const double before =
      *database->tombstone_share(Family::kInodes);  // in tables, perhaps without what a flush drops by itself

  ASSERT_TRUE(database->compact(Family::kInodes));

  EXPECT_LE(*database->tombstone_share(Family::kInodes), before);
  EXPECT_EQ(*database->tombstone_share(Family::kInodes), 0.0);
  EXPECT_EQ(*database->tombstone_share(Family::kXattrs), 0.0);  // which is empty
  EXPECT_EQ(get(*database, "50"), "value");
  EXPECT_EQ(get(*database, "49"), std::nullopt);
}

TEST_F(DatabaseTest, CompactingEndsWhenToldTo) {
  const Error enough{ErrorCode::kInterrupted, "enough"};
  auto database = open_or_die(index());
  std::string value(100'000, ' ');
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    for (char& byte : value) byte = static_cast<char>(random());
    ASSERT_TRUE(put(*database, std::to_string(i), value));
  }
  int asked = 0;
  const auto compacted = database->compact(Family::kInodes, [&]() -> Result<void> {
    ++asked;
    return enough;
  });

  ASSERT_FALSE(compacted);
  EXPECT_EQ(compacted.error().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(get(*database, "99"), value);
  EXPECT_TRUE(database->compact(Family::kInodes));
}

// Also in a database that has nothing to flush: there RocksDB's Resume() went on with the log that had been cut off.
TEST_F(DatabaseTest, GoesOnWhenAFullDiskHasSpaceAgain) {
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

// Keeps RocksDB from beginning a flush.
class BusyFlushThreads {
 public:
  BusyFlushThreads() {
    rocksdb::Env& env = *rocksdb::Env::Default();
    for (int i = env.GetBackgroundThreads(rocksdb::Env::HIGH); i > 0; --i) {
      ++busy_;
      env.Schedule([](void* self) { static_cast<BusyFlushThreads*>(self)->wait(); }, this, rocksdb::Env::HIGH);
    }
  }
  BusyFlushThreads(const BusyFlushThreads&) = delete;
  BusyFlushThreads& operator=(const BusyFlushThreads&) = delete;
  ~BusyFlushThreads() { end(); }

  void end() {
    std::unique_lock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return busy_ == 0; });
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_over_; });
    --busy_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int busy_ = 0;
  bool is_over_ = false;
};

TEST_F(DatabaseTest, AFlushThatIsDueIsNotForgottenWhenAWriteFails) {
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

TEST_F(DatabaseTest, AWaitForWhatRocksDbDoesNotDoHasAnEnd) {
  auto database = open_or_die(index(), {.patience = std::chrono::milliseconds(100)});
  ASSERT_TRUE(put(*database, "a", "1"));
  {
    const BusyFlushThreads busy;
    const auto flushed = database->empty_log();
    ASSERT_FALSE(flushed);
    EXPECT_EQ(flushed.error().code(), ErrorCode::kIo);
    EXPECT_NE(flushed.error().message().find("mount the volume again"), std::string::npos) << flushed.error().message();
  }
  EXPECT_FALSE(put(*database, "b", "2")) << "after it has been given up";
  EXPECT_EQ(get(*database, "a"), "1");  // reading goes on

  database.reset();
  database = open_or_die(index());
  EXPECT_EQ(get(*database, "a"), "1");
  EXPECT_TRUE(put(*database, "b", "2"));
}

TEST_F(DatabaseTest, LosesNothingWhileTheDiskIsFullAgainAndAgain) {
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

}  // namespace
}  // namespace dedupfs
