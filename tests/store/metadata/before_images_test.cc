#include "store/metadata/before_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_snapshots.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// ---------------------------------------------------------------- keys and values

TEST(BeforeImages, KeysOfImagesKeepTheOrderOfAnyKeys) {
  const std::vector<std::string> keys = {key_of(0),
                                         key_of(0, std::string_view("\0", 1)),
                                         key_of(0, std::string_view("\0\0", 2)),
                                         key_of(0, std::string_view("\0\1", 2)),
                                         key_of(0, "a"),
                                         key_of(0, std::string_view("a\0b", 3)),
                                         key_of(0, "ab"),
                                         key_of(1)};
  std::string last;
  for (const std::string& key : keys)
    for (const TreeNumber number : {1U, 255U, 256U, kEndOfTrees - 1}) {
      const std::string stored = encode_before_image_key(Family::kXattrs, key, number);
      EXPECT_LT(last, stored);
      last = stored;
      const auto decoded = decode_before_image_key(stored);
      ASSERT_TRUE(decoded);
      EXPECT_EQ(decoded->key, key);
      EXPECT_EQ(decoded->number, number);
      EXPECT_EQ(decoded->family, Family::kXattrs);
    }
}

// Nobody can have written it: the image for the newest snapshot, written when the key changes next, would hide it.
TEST(BeforeImages, FamiliesStandInTheOrderOfTheTreeFamilies) {
  std::string last;
  for (const Family family : kTreeFamilies) {
    const std::string stored = encode_before_image_key(family, key_of(1), 1);
    EXPECT_LT(last, stored);
    EXPECT_EQ(decode_before_image_key(stored)->family, family);
    last = stored;
  }
}

TEST(BeforeImages, KeysThatNobodyCanHaveWrittenAreRefused) {
  const std::string key = encode_before_image_key(Family::kRecipes, key_of(5, "x"), 3);
  ASSERT_TRUE(decode_before_image_key(key));
  for (std::size_t length = 0; length < key.size(); ++length)
    EXPECT_FALSE(decode_before_image_key(std::string_view(key).substr(0, length))) << length;
  EXPECT_FALSE(decode_before_image_key(key + "x"));

  const auto refused = [](std::string stored, std::size_t at, char byte) {
    stored.at(at) = byte;
    const auto decoded = decode_before_image_key(stored);
    return !decoded && decoded.error().code() == ErrorCode::kCorruption;
  };
  EXPECT_TRUE(refused(key, 0, 0)) << "no family";
  EXPECT_TRUE(refused(key, 0, static_cast<char>(kTreeFamilies.size() + 1))) << "a family that snapshots do not keep";
  EXPECT_TRUE(refused(key, 10, 1)) << "the key does not end";
  EXPECT_TRUE(refused(key, 11, 2)) << "its end is another";
  EXPECT_TRUE(refused(key, 1, 1)) << "a key of another tree";
  EXPECT_TRUE(refused(encode_before_image_key(Family::kXattrs, key_of(5, std::string_view("\0", 1)), 3), 10, 7))
      << "a NUL that is not escaped";
  EXPECT_FALSE(decode_before_image_key(encode_before_image_key(Family::kRecipes, key_of(5), kLiveTree)));
  EXPECT_FALSE(decode_before_image_key(encode_before_image_key(Family::kRecipes, key_of(5), kEndOfTrees)));
}

TEST(BeforeImages, AValueMayBeEmptyOrNotThere) {
  for (const std::optional<std::string>& value : {std::optional<std::string>(), {""}, {"x"}, {std::string("\0\1", 2)}})
    EXPECT_EQ(decode_before_image(encode_before_image(value)).value(), value);
}

TEST(BeforeImages, ValuesThatNobodyCanHaveWrittenAreRefused) {
  for (const std::string& stored : {std::string(), std::string("\2"), std::string("\0x", 2), std::string("\2x")}) {
    const auto decoded = decode_before_image(stored);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
  }
}

// ---------------------------------------------------------------- what is preserved

class PreserveTest : public SnapshotsTest {
 protected:
  // The batch changes the key to the value; what is preserved is in the database afterwards.
  void change(const Preservation& preservation, Family family, const std::string& key,
              const std::optional<std::string>& value) {
    Database::Batch batch(*database_);
    ASSERT_TRUE(preserve(*database_, preservation, family, key, value, batch));
    if (value)
      batch.put(family, key, *value);
    else
      batch.erase(family, key);
    ASSERT_TRUE(database_->write(batch));
  }
  std::vector<std::pair<TreeNumber, std::optional<std::string>>> preserved() {
    std::vector<std::pair<TreeNumber, std::optional<std::string>>> found;
    const auto stored = database_->list(Family::kBeforeImages, {}, {}, 100).value();
    for (const auto& [key, value] : stored)
      found.emplace_back(decode_before_image_key(key)->number, decode_before_image(value).value());
    return found;
  }

  const Preservation for_third_{.number = 3, .end_of_inodes = 100};
};

class SnapshotViewTest : public SnapshotsTest {
 protected:
  SnapshotView view(TreeNumber number) { return {*database_, *snapshots_, snapshots_->find(number).value()}; }
  static std::string name(int number) {
    std::string digits = std::to_string(number);
    return key_of(5, std::string(4 - digits.size(), '0') + digits);
  }
};

TEST_F(PreserveTest, TheFirstChangeAfterASnapshotLeavesAnImageAndNoOther) {
  change({.number = 1, .end_of_inodes = 100}, Family::kInodes, key_of(5), "first");
  change(for_third_, Family::kInodes, key_of(5), "second");
  change(for_third_, Family::kInodes, key_of(5), "third");
  change(for_third_, Family::kInodes, key_of(5), std::nullopt);

  EXPECT_THAT(preserved(), ElementsAre(Pair(1, std::nullopt), Pair(3, "first")));
}

TEST_F(PreserveTest, WhatStaysTheSameAndWhatNoSnapshotKeepsLeavesNone) {
  const std::optional<std::string> same = "same";
  change({}, Family::kInodes, key_of(5), same);
  change(for_third_, Family::kInodes, key_of(5), same);
  change(for_third_, Family::kInodes, key_of(6), std::nullopt);
  change(for_third_, Family::kCounters, "counter", "1");
  change(for_third_, Family::kInodes, key_of(100), "newer");

  EXPECT_THAT(preserved(), IsEmpty());
}

TEST_F(PreserveTest, AnImageOfADeletedSnapshotThatIsNewerIsEnough) {
  Preservation deleted_later{.number = 3, .end_of_inodes = 100, .newer_deleted = {5, 4}};
  change({.number = 4, .end_of_inodes = 100}, Family::kInodes, key_of(5), "first");
  change(deleted_later, Family::kInodes, key_of(5), "second");
  EXPECT_THAT(preserved(), ElementsAre(Pair(4, std::nullopt)));

  deleted_later.newer_deleted = {5};
  change(deleted_later, Family::kInodes, key_of(5), "third");
  EXPECT_THAT(preserved(), ElementsAre(Pair(3, "second"), Pair(4, std::nullopt)));
}

TEST_F(PreserveTest, WhatDoesNotChangeCostsNothing) {
  metadata_->put(Family::kInodes, key_of(5), "same");
  (void)take();
  metadata_->put(Family::kInodes, key_of(5), "same");
  metadata_->put(Family::kCounters, "counter", "new");
  commit();
  EXPECT_EQ(images(), 0U);
}

TEST_F(PreserveTest, InodesThatAreNewerCostNothing) {
  const TreeNumber snapshot = take(100);
  metadata_->put(Family::kRecipes, key_of(100, "segment"), "entries");
  commit();
  EXPECT_EQ(images(), 0U);
  EXPECT_EQ(get(snapshot, Family::kRecipes, key_of(100, "segment")), std::nullopt);
}

// ---------------------------------------------------------------- what a snapshot sees

// Nobody can have written it: the image for the newest snapshot, written when the key changes next, would hide it.
TEST_F(SnapshotViewTest, AnImageThatIsNewerThanAllSnapshotsIsDamage) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  const TreeNumber snapshot = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  commit();
  Database::Batch batch(*database_);
  batch.erase(Family::kBeforeImages, encode_before_image_key(Family::kInodes, key_of(5), snapshot));
  batch.put(Family::kBeforeImages, encode_before_image_key(Family::kInodes, key_of(5), snapshot + 1),
            encode_before_image("old"));
  ASSERT_TRUE(database_->write(batch));

  const std::string key = in_tree(snapshot, key_of(5));
  EXPECT_EQ(metadata_->get(Family::kInodes, key).error().code(), ErrorCode::kCorruption);
  EXPECT_FALSE(metadata_->list(Family::kInodes, key, in_tree(snapshot, key_of(6)), 10));
  EXPECT_FALSE(metadata_->find_at_or_before(Family::kInodes, key, key));
  take();  // now a snapshot has that number
  EXPECT_EQ(get(snapshot, Family::kInodes, key_of(5)), "old");
}

TEST_F(SnapshotViewTest, SeesTheImageOfTheLeastNumberThatIsNotBelowItsOwn) {
  metadata_->put(Family::kInodes, key_of(5), "first");
  const TreeNumber first = take();
  metadata_->put(Family::kInodes, key_of(5), "second");
  const TreeNumber second = take();
  const TreeNumber third = take();
  metadata_->put(Family::kInodes, key_of(5), "last");
  commit();

  EXPECT_EQ(view(first).get(Family::kInodes, key_of(5)).value(), "first");
  EXPECT_EQ(view(second).get(Family::kInodes, key_of(5)).value(), "second");
  EXPECT_EQ(view(third).get(Family::kInodes, key_of(5)).value(), "second");
}

TEST_F(SnapshotViewTest, ListsWhatThereWasInPagesOfAnySize) {
  for (int i = 0; i < 700; ++i) metadata_->put(Family::kDirents, name(i), i % 2 == 0 ? "even" : "odd");
  const TreeNumber snapshot = take();
  for (int i = 0; i < 700; i += 3) metadata_->erase(Family::kDirents, name(i));
  for (int i = 700; i < 1500; ++i) metadata_->put(Family::kDirents, name(i), "new");
  commit();

  for (const std::size_t limit : {1u, 255u, 256u, 257u, 5000u}) {
    std::string from = key_of(5);
    std::vector<KeyValue> all;
    for (;;) {
      const auto some = view(snapshot).list(Family::kDirents, from, key_of(6), limit).value();
      all.insert(all.end(), some.begin(), some.end());
      if (some.size() < limit) break;
      from = some.back().first + '\0';
    }
    ASSERT_EQ(all.size(), 700u) << limit;
    for (int i = 0; i < 700; ++i)
      ASSERT_EQ(all[static_cast<std::size_t>(i)], KeyValue(name(i), i % 2 == 0 ? "even" : "odd")) << limit;
  }
}

TEST_F(SnapshotViewTest, FindsTheKeyBeforePastKeysThatWereNotThere) {
  metadata_->put(Family::kRecipes, key_of(5, "b"), "was there");
  const TreeNumber snapshot = take();
  for (const char* rest : {"c", "d", "e"}) metadata_->put(Family::kRecipes, key_of(5, rest), "came later");
  metadata_->erase(Family::kRecipes, key_of(5, "b"));
  commit();

  const auto found = view(snapshot).find_at_or_before(Family::kRecipes, key_of(5, "z"), key_of(5)).value();

  EXPECT_EQ(found, KeyValue(key_of(5, "b"), "was there"));
  EXPECT_EQ(view(snapshot).find_at_or_before(Family::kRecipes, key_of(5, "a"), key_of(5)).value(), std::nullopt);
  EXPECT_EQ(view(snapshot).find_at_or_before(Family::kRecipes, key_of(5, "z"), key_of(5, "c")).value(), std::nullopt);
}

TEST_F(SnapshotViewTest, HasNothingOfInodesThatCameLater) {
  const TreeNumber snapshot = take(100);
  metadata_->put(Family::kInodes, key_of(100), "later");
  commit();

  EXPECT_EQ(view(snapshot).get(Family::kInodes, key_of(100)).value(), std::nullopt);
  EXPECT_THAT(view(snapshot).list(Family::kInodes, key_of(100), {}, 10).value(), IsEmpty());
  EXPECT_EQ(view(snapshot).find_at_or_before(Family::kInodes, key_of(100), key_of(100)).value(), std::nullopt);
}

TEST_F(SnapshotViewTest, GivesItsImagesWithWhereTheRestBegins) {
  for (const char* rest : {"a", "b", "c"}) metadata_->put(Family::kRecipes, key_of(5, rest), rest);
  const TreeNumber snapshot = take();
  metadata_->put(Family::kRecipes, key_of(5, "a"), "changed");
  metadata_->erase(Family::kRecipes, key_of(5, "c"));
  metadata_->put(Family::kRecipes, key_of(5, "d"), "new");
  commit();

  const ChangePage page = view(snapshot).images(Family::kRecipes, key_of(5), {}, 2).value();

  ASSERT_EQ(page.changes.size(), 2u);
  EXPECT_EQ(page.changes[0].key, key_of(5, "a"));
  EXPECT_EQ(page.changes[0].value, "a");
  EXPECT_EQ(page.changes[1].value, "c");
  EXPECT_EQ(page.behind, key_of(5, "d"));
  const ChangePage rest = view(snapshot).images(Family::kRecipes, *page.behind, {}, 2).value();
  ASSERT_EQ(rest.changes.size(), 1u);
  EXPECT_EQ(rest.changes[0].value, std::nullopt) << "it was not there";
  EXPECT_EQ(rest.behind, std::nullopt);
}

TEST_F(SnapshotViewTest, ADamagedImageIsCorruptionAndOtherKeysAreRead) {
  metadata_->put(Family::kInodes, key_of(5), "old");
  metadata_->put(Family::kInodes, key_of(6), "other");
  const TreeNumber snapshot = take();
  metadata_->put(Family::kInodes, key_of(5), "new");
  commit();
  Database::Batch batch(*database_);
  batch.put(Family::kBeforeImages, encode_before_image_key(Family::kInodes, key_of(5), snapshot), "?");
  ASSERT_TRUE(database_->write(batch));

  EXPECT_EQ(view(snapshot).get(Family::kInodes, key_of(5)).error().code(), ErrorCode::kCorruption);
  EXPECT_FALSE(view(snapshot).list(Family::kInodes, key_of(5), key_of(6), 10));
  EXPECT_EQ(view(snapshot).get(Family::kInodes, key_of(6)).value(), "other");
}

}  // namespace
}  // namespace dedupfs
