#include "store/metadata/metadata.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

constexpr Family kFamily = Family::kDirents;

class MetadataTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    auto opened = Database::open(folder_at(directory_.path() / "index"), {});
    ASSERT_TRUE(opened) << opened.error().message();
    database_ = std::move(*opened);
    snapshots_ = SnapshotList::load(*database_).value();
    metadata_ = std::make_unique<Metadata>(*database_, *snapshots_);
  }

  void write_frozen() {
    Database::Batch batch(*database_);
    ASSERT_TRUE(metadata_->append_to(batch));
    const auto written = database_->write(batch);
    ASSERT_TRUE(written) << written.error().message();
  }
  void commit() {
    metadata_->freeze();
    write_frozen();
    metadata_->committed();
  }

  std::optional<std::string> get(std::string_view key) { return metadata_->get(kFamily, key).value(); }
  std::vector<KeyValue> list(std::string_view from, std::string_view end, std::size_t limit) {
    return metadata_->list(kFamily, from, end, limit).value();
  }

  TempDir directory_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<SnapshotList> snapshots_;
  std::unique_ptr<Metadata> metadata_;
};

TEST_F(MetadataTest, ReadsItsOwnWritesInEveryState) {
  metadata_->put(kFamily, "key", "value");
  EXPECT_EQ(get("key"), "value");

  metadata_->freeze();
  EXPECT_EQ(get("key"), "value");

  write_frozen();
  EXPECT_EQ(get("key"), "value");

  metadata_->committed();
  EXPECT_EQ(get("key"), "value");
}

TEST_F(MetadataTest, UpperLayerWins) {
  metadata_->put(kFamily, "key", "stored");
  commit();
  metadata_->put(kFamily, "key", "frozen");
  metadata_->freeze();
  EXPECT_EQ(get("key"), "frozen");

  metadata_->erase(kFamily, "key");

  EXPECT_EQ(get("key"), std::nullopt);
  EXPECT_EQ(list("", "", 10), std::vector<KeyValue>());
  EXPECT_EQ(metadata_->find_at_or_before(kFamily, "z", "").value(), std::nullopt);
}

TEST_F(MetadataTest, FailedCommitLosesNothing) {
  metadata_->put(kFamily, "key", "value");
  metadata_->freeze();
  {
    Database::Batch never_written(*database_);
    ASSERT_TRUE(metadata_->append_to(never_written));
  }

  EXPECT_TRUE(metadata_->has_frozen());
  EXPECT_EQ(get("key"), "value");
  write_frozen();
  metadata_->committed();

  EXPECT_FALSE(metadata_->has_frozen());
  EXPECT_EQ(get("key"), "value");
}

// What a value grew in may be twice as large as the value.
TEST_F(MetadataTest, CountsWhatValuesTakeAndNotWhatIsInThem) {
  std::string value(1000, 'x');
  value.reserve(5000);
  metadata_->put(kFamily, "key", std::move(value));
  EXPECT_GE(metadata_->open_bytes(), 5000u);

  metadata_->put(kFamily, "key", "short");
  EXPECT_LT(metadata_->open_bytes(), 300u);
}

TEST_F(MetadataTest, CountsTheBytesOfTheOpenGroup) {
  EXPECT_TRUE(metadata_->open_is_empty());
  metadata_->put(kFamily, "key", std::string(1000, 'x'));
  const std::size_t one = metadata_->open_bytes();
  EXPECT_GE(one, 1003u);
  EXPECT_LT(one, 1300u);

  metadata_->put(kFamily, "key", std::string(500, 'x'));
  EXPECT_EQ(metadata_->open_bytes(), one - 500);
  metadata_->erase(kFamily, "key");
  EXPECT_LE(metadata_->open_bytes(), one - 1000);
  EXPECT_FALSE(metadata_->open_is_empty());

  metadata_->freeze();
  EXPECT_TRUE(metadata_->open_is_empty());
}

TEST_F(MetadataTest, ListsPastALongRowOfErasedEntries) {
  const auto key = [](int number) { return std::to_string(10'000 + number); };
  for (int i = 0; i < 5000; ++i) metadata_->put(kFamily, key(i), "x");
  commit();
  for (int i = 0; i < 4999; ++i) metadata_->erase(kFamily, key(i));

  EXPECT_EQ(list("", "", 1), (std::vector<KeyValue>{{key(4999), "x"}}));
  EXPECT_EQ(metadata_->find_at_or_before(kFamily, key(4998), "").value(), std::nullopt);
}

// Against a map, with commits in all their stages.
TEST_F(MetadataTest, BehavesLikeOneMap) {
  std::map<std::string, std::string> model;
  std::mt19937_64 random(20240611);
  const auto random_key = [&] {
    std::string key(random() % 4, '\0');  // short, so that keys meet and prefix one another
    for (char& letter : key) letter = static_cast<char>(random() % 3 == 0 ? 0 : 'a' + random() % 4);
    return key;
  };
  enum class Stage { kOpen, kFrozen, kWritten } stage = Stage::kOpen;

  for (int step = 0; step < 20'000; ++step) {
    SCOPED_TRACE(step);
    const std::string key = random_key();
    switch (random() % 16) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const std::string value = std::to_string(step);
        metadata_->put(kFamily, key, value);
        model[key] = value;
        break;
      }
      case 4:
      case 5:
      case 6:
        metadata_->erase(kFamily, key);
        model.erase(key);
        break;
      case 7:
        if (random() % 8 != 0) break;
        if (stage == Stage::kOpen) metadata_->freeze();
        if (stage == Stage::kFrozen) write_frozen();
        if (stage == Stage::kWritten) metadata_->committed();
        stage = stage == Stage::kOpen ? Stage::kFrozen : stage == Stage::kFrozen ? Stage::kWritten : Stage::kOpen;
        break;
      case 8:
      case 9: {
        const auto expected = model.find(key);
        ASSERT_EQ(get(key), expected == model.end() ? std::nullopt : std::optional(expected->second));
        break;
      }
      case 10:
      case 11:
      case 12: {
        const std::string end = random_key();
        const std::size_t limit = random() % 3 == 0 ? 1000 : random() % 10;
        std::vector<KeyValue> expected;
        for (auto at = model.lower_bound(key); at != model.end() && expected.size() < limit; ++at) {
          if (!end.empty() && at->first >= end) break;
          expected.emplace_back(at->first, at->second);
        }
        ASSERT_EQ(list(key, end, limit), expected);
        break;
      }
      default: {
        const std::string from = random_key();
        std::optional<KeyValue> expected;
        if (const auto after = model.upper_bound(key); after != model.begin() && std::prev(after)->first >= from)
          expected = *std::prev(after);
        ASSERT_EQ(metadata_->find_at_or_before(kFamily, key, from).value(), expected);
      }
    }
  }
}

// What nobody changes must be seen in every moment of a commit, also where readers and commits meet at full speed.
TEST_F(MetadataTest, ReadersNeverMissAnEntryDuringCommits) {
  constexpr int kKeys = 50;
  const auto key = [](int number) { return "key" + std::to_string(100 + number); };
  for (int i = 0; i < kKeys; ++i) metadata_->put(kFamily, key(i), "0");
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;

  std::vector<std::thread> readers;
  for (int thread = 0; thread < 2; ++thread) {
    readers.emplace_back([&, thread] {
      std::mt19937_64 random(static_cast<std::uint64_t>(thread));
      std::vector<int> seen(kKeys);  // values only grow
      for (; !stop; ++reads) {
        const int number = static_cast<int>(random() % kKeys);
        const auto at = static_cast<std::size_t>(number);
        const auto value = get(key(number));
        ASSERT_TRUE(value);
        ASSERT_GE(std::stoi(*value), seen[at]);
        seen[at] = std::stoi(*value);
        ASSERT_EQ(list("", "", 1000).size(), static_cast<std::size_t>(kKeys));
        const auto found = metadata_->find_at_or_before(kFamily, key(number) + "x", "").value();
        ASSERT_TRUE(found);
        ASSERT_EQ(found->first, key(number));
      }
    });
  }
  for (int round = 1; round <= 200; ++round) {
    metadata_->put(kFamily, key(round % kKeys), std::to_string(round));
    metadata_->erase(kFamily, "other" + std::to_string(round));
    commit();
    while (reads < round && !HasFailure()) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();

  EXPECT_EQ(get(key(200 % kKeys)).has_value(), true);
}

}  // namespace
}  // namespace dedupfs
