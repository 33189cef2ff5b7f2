#include "index/database.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/units.h"
#include "test_database.h"

namespace dedupfs {
namespace {

std::vector<std::string> keys_of(const Result<std::vector<KeyValue>>& entries) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : entries.value()) keys.push_back(key);
  return keys;
}

std::optional<std::string> key_of(const Result<std::optional<KeyValue>>& entry) {
  if (!entry.value()) return std::nullopt;
  return (*entry)->first;
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
  for (const auto& file : std::filesystem::directory_iterator(index()))
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

TEST(FilterMemory, SaysHowMuchWouldServeWhereFiltersOutgrowIt) {
  const auto enough = Database::filter_memory_of(100 * kMiB, 256 * kMiB);
  EXPECT_NEAR(static_cast<double>(enough.filter_bytes), 112.5 * kMiB, kMiB);
  EXPECT_EQ(enough.wanted_bytes, 0u);

  const auto little = Database::filter_memory_of(400 * kMiB, 256 * kMiB);
  EXPECT_EQ(little.memory_bytes, 256 * kMiB);
  EXPECT_EQ(little.wanted_bytes, 768 * kMiB);
  EXPECT_EQ(Database::filter_memory_of(400 * kMiB, little.wanted_bytes).wanted_bytes, 0u);
}

TEST_F(DatabaseTest, KnowsAboutHowManyEntriesAFamilyHasWritableOrNot) {
  auto database = open_or_die(index());
  EXPECT_EQ(database->estimated_entries(Family::kInodes), 0u);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(put(*database, std::to_string(i), "value"));
  EXPECT_EQ(database->estimated_entries(Family::kInodes), 100u);
  database.reset();
  database = open_or_die(index());
  EXPECT_EQ(database->estimated_entries(Family::kInodes), 100u);
  database.reset();
  database = open_or_die(index(), {.read_only = true});
  EXPECT_EQ(database->estimated_entries(Family::kInodes), 100u);
  EXPECT_EQ(database->estimated_entries(Family::kXattrs), 0u);
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

}  // namespace
}  // namespace dedupfs
