#include "index/entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class EntriesTest : public testing::Test {
 protected:
  EntriesTest() {
    EXPECT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    database_ = std::move(*Database::open(folder_at(directory_.path() / "index"), {.memory_bytes = 8 << 20}));
    for (const char* key : {"a", "b", "c", "d", "e"}) put(key);
  }

  void put(const std::string& key) {
    Database::Batch batch(*database_);
    batch.put(Family::kInodes, key, key + key);
    EXPECT_TRUE(database_->write(batch));
  }
  std::vector<std::string> keys(std::string_view from, std::string_view end, std::size_t page) {
    std::vector<std::string> keys;
    const auto visited = visit_entries(*database_, Family::kInodes, from, end, page,
                                       [&](const std::string& key, const std::string& value) -> Result<void> {
                                         EXPECT_EQ(value, key + key);
                                         keys.push_back(key);
                                         return {};
                                       });
    EXPECT_TRUE(visited);
    return keys;
  }

  TempDir directory_;
  std::unique_ptr<Database> database_;
};

TEST_F(EntriesTest, AllAreVisitedInOrderHoweverLongAPageIs) {
  for (std::size_t page = 1; page < 7; ++page) EXPECT_THAT(keys({}, {}, page), ElementsAre("a", "b", "c", "d", "e"));
}

TEST_F(EntriesTest, OnlyThoseBetweenTheBoundsAreVisited) {
  for (std::size_t page = 1; page < 4; ++page) {
    EXPECT_THAT(keys("b", "d", page), ElementsAre("b", "c"));
    EXPECT_THAT(keys("bb", {}, page), ElementsAre("c", "d", "e"));
    EXPECT_THAT(keys("f", {}, page), IsEmpty());
  }
}

TEST_F(EntriesTest, VisitingEndsWhereItIsToldTo) {
  std::string last;
  const auto visit = [&](const std::string& key, const std::string& /*value*/) -> Result<bool> {
    last = key;
    return key != "d";
  };

  EXPECT_EQ(visit_entries_while(*database_, Family::kInodes, {}, {}, 2, visit).value(), false);
  EXPECT_EQ(last, "d");
  EXPECT_EQ(visit_entries_while(*database_, Family::kInodes, {}, "d", 2, visit).value(), true);
  EXPECT_EQ(last, "c");
}

TEST_F(EntriesTest, AnErrorEndsIt) {
  std::size_t visits = 0;

  const auto visited = visit_entries(*database_, Family::kInodes, {}, {}, 2, [&](const auto&, const auto&) {
    return ++visits == 3 ? Result<void>(corruption("the third")) : Result<void>();
  });

  ASSERT_FALSE(visited);
  EXPECT_EQ(visited.error().message(), "the third");
  EXPECT_EQ(visits, 3u);
}

TEST_F(EntriesTest, TheVisitorMayPutMore) {
  std::vector<std::string> keys;

  const auto visited = visit_entries(*database_, Family::kInodes, {}, {}, 2, [&](const auto& key, const auto&) {
    if (key == "b") put("f");
    keys.push_back(key);
    return Result<void>();
  });

  ASSERT_TRUE(visited);
  EXPECT_THAT(keys, ElementsAre("a", "b", "c", "d", "e", "f"));
}

}  // namespace
}  // namespace dedupfs
