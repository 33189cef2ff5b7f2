#include "index/index_salvage.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/coding.h"
#include "index/counters.h"
#include "support/files.h"
#include "test_database.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::array kFamiliesOfNames = {Family::kInodes, Family::kDirents, Family::kXattrs, Family::kRecipes,
                                         Family::kOrphans};

// A volume of an index alone.
class IndexSalvageTest : public DatabaseTest {
 protected:
  // In tables, when it returns: some of inodes, a large one of recipes.
  void write_records() {
    const auto database = open_or_die(index());
    Database::Batch batch(*database);
    std::mt19937 random(1);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      std::string value(100, '\0');
      for (char& byte : value) byte = static_cast<char>(random());
      batch.put(Family::kRecipes, key(i), value);
    }
    batch.put(Family::kInodes, key(1), "inode");
    batch.put(Family::kCounters, kVolumeUuidCounter, "uuid");
    ASSERT_TRUE(database->write(batch));
  }
  // In the log of a crash.
  Path crash_with_log() {
    const auto database = open_or_die(index());
    EXPECT_TRUE(put(*database, key(2), "logged"));
    before_damage_ = std::filesystem::file_size(log_with_content(index()));
    EXPECT_TRUE(put(*database, key(3), std::string(100'000, 'x')));  // over several blocks of the log
    EXPECT_TRUE(put(*database, key(4), "behind"));
    return crash("index of a crash");
  }
  static std::string key(std::uint64_t number) {
    std::string key;
    Encoder(key).big_u64(number * 1000);
    return key;
  }
  Path largest_table() const {
    Path largest;
    for (const auto& file : std::filesystem::directory_iterator(index()))
      if (file.path().extension() == ".sst" &&
          (largest.empty() || file.file_size() > std::filesystem::file_size(largest)))
        largest = file.path();
    return largest;
  }

  IndexSurvey survey(const std::string& name = "index", const std::vector<HarmfulTable>& harmful = {}) {
    auto surveyed = survey_index(folder_at(directory_.path()), name, "scratch", harmful);
    EXPECT_TRUE(surveyed) << surveyed.error().message();
    return std::move(*surveyed);
  }
  static std::vector<std::string> keys_in(const IndexSurvey& survey, Family family) {
    std::vector<std::string> keys;
    EXPECT_TRUE(survey.records->walk(family, [&](std::string_view key, std::string_view) {
      keys.emplace_back(key);
      return true;
    }));
    return keys;
  }
  static bool is_whole(const IndexSurvey& survey, Family family) {
    return survey.is_whole[static_cast<std::size_t>(family)];
  }
  bool scratch_is_there() const { return std::filesystem::exists(directory_.path() / "scratch"); }

  static constexpr std::uint64_t kRecords = 2000;
  std::uint64_t before_damage_ = 0;  // of the log
};

TEST_F(IndexSalvageTest, ASoundIndexIsWholeAndNothingIsSaidOfIt) {
  write_records();

  const IndexSurvey found = survey();

  EXPECT_THAT(found.damage, IsEmpty());
  ASSERT_NE(found.records, nullptr);
  EXPECT_TRUE(std::ranges::all_of(found.is_whole, std::identity()));
  EXPECT_TRUE(found.namespace_is_whole());
  EXPECT_EQ(found.volume_uuid, "uuid");
  EXPECT_EQ(keys_in(found, Family::kRecipes).size(), kRecords);
  EXPECT_FALSE(scratch_is_there());
}

TEST_F(IndexSalvageTest, WithoutAnIndexThereIsNothing) {
  const IndexSurvey found = survey("none");

  EXPECT_THAT(found.damage, ElementsAre(HasSubstr("none is missing")));
  EXPECT_EQ(found.records, nullptr);
  EXPECT_FALSE(found.namespace_is_whole());
}

TEST_F(IndexSalvageTest, AroundADamagedBlockEverythingIsRead) {
  write_records();
  const Path table = largest_table();
  overwrite_at(table, std::filesystem::file_size(table) / 2, "damage");

  const IndexSurvey found = survey();

  ASSERT_NE(found.records, nullptr);
  EXPECT_FALSE(is_whole(found, Family::kRecipes));
  EXPECT_FALSE(found.namespace_is_whole());
  EXPECT_TRUE(is_whole(found, Family::kInodes));
  EXPECT_THAT(found.damage, testing::Contains(HasSubstr("(recipes)")));
  const auto keys = keys_in(found, Family::kRecipes);
  EXPECT_LT(keys.size(), kRecords);
  EXPECT_GT(keys.size(), kRecords * 8 / 10) << "a block is 16 KiB";
  EXPECT_EQ(keys.front(), key(0));
  EXPECT_EQ(keys.back(), key(kRecords - 1));
  EXPECT_TRUE(std::ranges::is_sorted(keys));
}

TEST_F(IndexSalvageTest, AWalkEndsWhereItIsToldToBeforeAndBehindAHole) {
  write_records();
  overwrite_at(largest_table(), std::filesystem::file_size(largest_table()) / 2, "damage");
  const IndexSurvey found = survey();
  const std::size_t all = keys_in(found, Family::kRecipes).size();

  for (const std::size_t wanted : {std::size_t{1}, std::size_t{10}, all - 10, all}) {
    std::size_t visited = 0;
    ASSERT_TRUE(found.records->walk(Family::kRecipes, [&](auto, auto) { return ++visited < wanted; }));
    EXPECT_EQ(visited, wanted);
  }
}

TEST_F(IndexSalvageTest, WhatStandsInALogIsRead) {
  write_records();
  const Path crashed = crash_with_log();

  const IndexSurvey found = survey(crashed.filename());

  EXPECT_THAT(found.damage, IsEmpty());
  EXPECT_THAT(keys_in(found, Family::kInodes), ElementsAre(key(1), key(2), key(3), key(4)));
}

TEST_F(IndexSalvageTest, BehindDamageOfTheLogNothingIsTheNewest) {
  write_records();
  const Path crashed = crash_with_log();
  overwrite_at(log_with_content(crashed), before_damage_ + 500, "damage");

  const IndexSurvey found = survey(crashed.filename());

  ASSERT_NE(found.records, nullptr);
  EXPECT_THAT(found.damage, testing::Contains(HasSubstr("changes behind the damage are lost")));
  EXPECT_TRUE(std::ranges::none_of(found.is_whole, std::identity()));
  const auto keys = keys_in(found, Family::kInodes);
  EXPECT_THAT(keys, testing::UnorderedElementsAre(key(1), key(2))) << "the damage hit 3, and 4 without 3 never existed";
}

TEST_F(IndexSalvageTest, WithoutCurrentTheNewestManifestCounts) {
  write_records();
  std::filesystem::remove(index() / "CURRENT");
  const auto before = listing(index());
  {
    const IndexSurvey found = survey();

    ASSERT_NE(found.records, nullptr);
    EXPECT_THAT(found.damage, testing::Not(IsEmpty()));
    EXPECT_EQ(keys_in(found, Family::kRecipes).size(), kRecords);
    EXPECT_EQ(found.volume_uuid, "uuid");
    EXPECT_TRUE(scratch_is_there());
  }
  EXPECT_FALSE(scratch_is_there()) << "it goes with the records";
  EXPECT_EQ(listing(index()), before) << "the damaged index is never written to";
}

TEST_F(IndexSalvageTest, WithoutAManifestTheTablesAreRead) {
  write_records();
  for (const auto& file : std::filesystem::directory_iterator(index()))
    if (file.path().filename().string().starts_with("MANIFEST")) std::filesystem::remove(file.path());
  const auto before = listing(index());
  {
    const IndexSurvey found = survey();

    ASSERT_NE(found.records, nullptr);
    EXPECT_EQ(keys_in(found, Family::kRecipes).size(), kRecords);
    EXPECT_THAT(keys_in(found, Family::kInodes), ElementsAre(key(1)));
    EXPECT_THAT(keys_in(found, Family::kXattrs), IsEmpty()) << "no key that is none of dedupfs";
    EXPECT_TRUE(std::ranges::none_of(found.is_whole, std::identity())) << "nobody knows what is missing";
  }
  EXPECT_FALSE(scratch_is_there());
  EXPECT_EQ(listing(index()), before);
}

TEST_F(IndexSalvageTest, ATableThatDoesHarmIsNamedAndLeftOut) {
  write_records();
  const std::string table = largest_table().filename();

  const IndexSurvey found = survey("index", {{.name = table, .harm = table + " does harm"}});

  ASSERT_NE(found.records, nullptr);
  EXPECT_THAT(found.damage, testing::Contains(table + " does harm"));
  EXPECT_THAT(keys_in(found, Family::kRecipes), IsEmpty());
  EXPECT_THAT(keys_in(found, Family::kInodes), ElementsAre(key(1)));
  EXPECT_FALSE(found.namespace_is_whole());
}

TEST_F(IndexSalvageTest, WhatAnEarlierRepairLeftIsRemoved) {
  std::filesystem::create_directory(directory_.path() / "scratch");
  overwrite(directory_.path() / "scratch/left", "over");

  survey();

  EXPECT_FALSE(scratch_is_there());
}

TEST(IndexSurvey, TheNamespaceIsWholeWithoutTheFamiliesThatContainersTell) {
  IndexSurvey survey;
  EXPECT_FALSE(survey.namespace_is_whole()) << "without records";
  struct NoRecords final : RecordSource {
    Result<void> walk(Family, const Visit&) const override { return {}; }
  };
  survey.records = std::make_unique<NoRecords>();
  for (const Family family : kFamiliesOfNames) {
    EXPECT_FALSE(survey.namespace_is_whole()) << "without " << name_of(family);
    survey.is_whole[static_cast<std::size_t>(family)] = true;
  }
  EXPECT_TRUE(survey.namespace_is_whole());
}

}  // namespace
}  // namespace dedupfs
