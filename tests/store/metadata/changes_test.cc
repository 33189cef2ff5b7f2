#include "store/metadata/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<KeyValue> kStored = {{"b", "1"}, {"d", "2"}, {"f", "3"}};

std::vector<KeyValue> merged(std::vector<KeyValue> stored, std::vector<KeyChange> changes,
                             const std::optional<std::string>& behind = {}, std::size_t limit = 100) {
  std::vector<KeyValue> found;
  dedupfs::merge(std::move(stored), std::move(changes), behind, limit, found);
  return found;
}

TEST(MergeChanges, WithoutChangesIsWhatIsStored) {
  EXPECT_EQ(merged(kStored, {}), kStored);
  EXPECT_THAT(merged({}, {}), IsEmpty());
}

TEST(MergeChanges, ChangesStandInFrontBetweenAndBehindInOrder) {
  EXPECT_THAT(merged(kStored, {{"a", "new"}, {"c", "new"}, {"g", "new"}}),
              ElementsAre(KeyValue("a", "new"), KeyValue("b", "1"), KeyValue("c", "new"), KeyValue("d", "2"),
                          KeyValue("f", "3"), KeyValue("g", "new")));
  EXPECT_THAT(merged({}, {{"a", "new"}, {"b", ""}}), ElementsAre(KeyValue("a", "new"), KeyValue("b", "")));
}

TEST(MergeChanges, AChangeReplacesWhatIsStoredOrTakesItAway) {
  EXPECT_THAT(merged(kStored, {{"b", "new"}, {"d", std::nullopt}}),
              ElementsAre(KeyValue("b", "new"), KeyValue("f", "3")));
  EXPECT_THAT(merged(kStored, {{"b", std::nullopt}, {"d", std::nullopt}, {"f", std::nullopt}}), IsEmpty());
  EXPECT_EQ(merged(kStored, {{"c", std::nullopt}}), kStored) << "it was not there";
}

TEST(MergeChanges, WhatIsBehindCountsOnNeitherSide) {
  EXPECT_THAT(merged(kStored, {{"c", "new"}, {"e", "new"}}, "d"),
              ElementsAre(KeyValue("b", "1"), KeyValue("c", "new")));
  EXPECT_THAT(merged(kStored, {}, "b"), IsEmpty());
  EXPECT_THAT(merged({}, {{"c", "new"}}, "a"), IsEmpty());
}

TEST(MergeChanges, EndsAtTheLimitAndCountsWhatWasFoundBefore) {
  EXPECT_THAT(merged(kStored, {{"a", "new"}}, {}, 2), ElementsAre(KeyValue("a", "new"), KeyValue("b", "1")));
  EXPECT_THAT(merged(kStored, {{"b", std::nullopt}}, {}, 1), ElementsAre(KeyValue("d", "2")))
      << "what goes does not count";
  EXPECT_THAT(merged(kStored, {}, {}, 0), IsEmpty());

  std::vector<KeyValue> found = {{"0", "before"}};
  dedupfs::merge(kStored, {}, {}, 2, found);
  EXPECT_THAT(found, ElementsAre(KeyValue("0", "before"), KeyValue("b", "1")));
}

}  // namespace
}  // namespace dedupfs
