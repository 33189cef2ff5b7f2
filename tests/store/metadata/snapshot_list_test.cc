#include "store/metadata/snapshot_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/coding.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SnapshotRecord named(TreeNumber number, const std::string& name, bool is_deleted = false) {
  return {.number = number,
          .name = name,
          .end_of_inodes = 100 * number,
          .is_deleted = is_deleted,
          .uuid = uuid_without(number, 0)};
}
std::vector<TreeNumber> numbers_of(const std::vector<SnapshotRecord>& records) {
  std::vector<TreeNumber> numbers;
  for (const SnapshotRecord& record : records) numbers.push_back(record.number);
  return numbers;
}

// ---------------------------------------------------------------- records

TEST(SnapshotRecord, OutlivesBeingWrittenDown) {
  for (const bool is_deleted : {false, true}) {
    const SnapshotRecord record{.number = 7,
                                .name = "before the upgrade",
                                .created_unix_seconds = -5,
                                .end_of_inodes = kEndOfInodes,
                                .inodes = 12'345,
                                .is_deleted = is_deleted,
                                .uuid = "0f8b6bfa-7d6c-4d0e-9f3b-5a0c9d1e2f30",
                                .is_dated_here = !is_deleted};
    EXPECT_EQ(decode_snapshot(7, encode_snapshot(record)).value(), record);
  }
}

TEST(SnapshotRecord, OfAnOlderBuildHasAUuidByItsNumberAndDate) {
  SnapshotRecord record = named(7, "old");
  record.created_unix_seconds = 5;
  record.uuid = uuid_without(7, 5);
  const std::string value = encode_snapshot(record);
  EXPECT_EQ(value[1], 0) << "older builds read it";
  EXPECT_EQ(decode_snapshot(7, value).value(), record);
  const std::set<std::string> all = {uuid_without(7, 5), uuid_without(8, 5), uuid_without(7, 6)};
  EXPECT_EQ(all.size(), 3u);
}

TEST(SnapshotRecord, KeysKeepTheOrderOfNumbersAndNoOtherKeysAreTaken) {
  std::string last;
  for (const TreeNumber number : {1U, 255U, 256U, kEndOfTrees - 1}) {
    const std::string key = encode_snapshot_key(number);
    EXPECT_LT(last, key);
    EXPECT_EQ(decode_snapshot_key(key).value(), number);
    last = key;
  }
  for (const std::uint64_t number :
       {std::uint64_t{kLiveTree}, std::uint64_t{kEndOfTrees}, std::uint64_t{1} << 32 | 1}) {
    std::string key;
    Encoder(key).big_u64(number);
    EXPECT_EQ(decode_snapshot_key(key).error().code(), ErrorCode::kCorruption) << number;
  }
  EXPECT_FALSE(decode_snapshot_key(last.substr(1)));
  EXPECT_FALSE(decode_snapshot_key(last + "x"));
}

TEST(SnapshotRecord, WhatNobodyCanHaveWrittenIsRefused) {
  const std::string record = encode_snapshot(named(1, "s"));
  ASSERT_TRUE(decode_snapshot(1, record));
  for (std::size_t length = 0; length < record.size(); ++length)
    EXPECT_FALSE(decode_snapshot(1, std::string_view(record).substr(0, length))) << length;
  const auto with = [&](std::size_t at, char byte) {
    std::string changed = record;
    changed.at(at) = byte;
    return decode_snapshot(1, changed);
  };
  EXPECT_FALSE(with(0, 2)) << "another version";
  EXPECT_FALSE(with(1, 8)) << "an unknown flag";
  EXPECT_FALSE(with(1, 4)) << "a date of its own without a UUID";
  EXPECT_FALSE(with(1, 2)) << "a UUID that is cut";
  EXPECT_FALSE(decode_snapshot(
      1, encode_snapshot({.number = 1, .name = "s", .end_of_inodes = kEndOfInodes + 1, .uuid = uuid_without(1, 0)})));
}

TEST(SnapshotRecord, NamesAreThoseOfFiles) {
  const auto is_taken = [](const std::string& name) { return decode_snapshot(1, encode_snapshot(named(1, name))); };
  EXPECT_TRUE(is_taken(std::string(255, 'x')));
  EXPECT_FALSE(is_taken(std::string(256, 'x')));
  EXPECT_FALSE(is_taken(""));
  EXPECT_FALSE(is_taken("a/b"));
  EXPECT_FALSE(is_taken(std::string("a\0b", 3)));
}

// ---------------------------------------------------------------- the list

TEST(SnapshotList, AnEmptyOneHasNothing) {
  SnapshotList list;

  EXPECT_THAT(list.all(), IsEmpty());
  EXPECT_EQ(list.newest(), kLiveTree);
  EXPECT_EQ(list.older(5), kLiveTree);
  EXPECT_FALSE(list.preservation());
  EXPECT_FALSE(list.find("x"));
}

TEST(SnapshotList, DeletedOnesAreKnownAndNotFound) {
  SnapshotList list;
  list.put(named(3, "third"));
  list.put(named(1, "first"));
  list.put(named(2, "second", true));

  EXPECT_THAT(numbers_of(list.all()), ElementsAre(1, 3)) << "the oldest first";
  EXPECT_THAT(numbers_of(list.deleted()), ElementsAre(2));
  EXPECT_TRUE(list.knows(2));
  EXPECT_FALSE(list.find(TreeNumber{2}));
  EXPECT_FALSE(list.find("second"));
  EXPECT_EQ(list.find("third")->number, 3U);
  EXPECT_EQ(list.find(TreeNumber{1})->name, "first");
  list.erase(2);
  EXPECT_FALSE(list.knows(2));
}

TEST(SnapshotList, TheNextOlderOneIsNotDeleted) {
  SnapshotList list;
  list.put(named(1, "first"));
  list.put(named(2, "second", true));
  list.put(named(4, "fourth"));

  EXPECT_EQ(list.older(1), kLiveTree);
  EXPECT_EQ(list.older(2), 1U);
  EXPECT_EQ(list.older(4), 1U);
  EXPECT_EQ(list.older(5), 4U);
  EXPECT_EQ(list.older(100), 4U);
}

TEST(SnapshotList, IsPreservedForTheNewestThatIsNotDeleted) {
  SnapshotList list;
  list.put(named(1, "first"));
  list.put(named(2, "second"));
  list.put(named(3, "third", true));
  list.put(named(5, "fifth", true));

  const auto preservation = list.preservation();

  ASSERT_TRUE(preservation);
  EXPECT_EQ(preservation->number, 2U);
  EXPECT_EQ(preservation->end_of_inodes, 200U);
  EXPECT_THAT(preservation->newer_deleted, ElementsAre(5, 3));
  EXPECT_EQ(list.newest(), 5U);
  list.put(named(1, "first", true));
  list.put(named(2, "second", true));
  EXPECT_FALSE(list.preservation()) << "all are deleted";
}

// ---------------------------------------------------------------- one whose group is not committed

TEST(SnapshotList, OneThatIsNotCommittedIsPreservedForAndSeenByNobody) {
  SnapshotList list;
  list.put_uncommitted(named(1, "first"));

  EXPECT_EQ(list.preservation()->number, 1U);
  EXPECT_TRUE(list.knows(1));
  EXPECT_EQ(list.newest(), 1U);
  EXPECT_THAT(list.all(), IsEmpty());
  EXPECT_FALSE(list.find(TreeNumber{1}));
  EXPECT_FALSE(list.find("first"));

  list.committed();
  EXPECT_THAT(numbers_of(list.all()), ElementsAre(1));
  EXPECT_TRUE(list.find("first"));
}

TEST(SnapshotList, OneWhoseCommitIsTriedAgainStaysAndOneWhoseCommitFailedForGoodGoes) {
  SnapshotList list;
  list.put_uncommitted(named(1, "first"));

  list.failed(CommitFailure::kMayBeRetried);
  EXPECT_TRUE(list.knows(1));
  list.failed(CommitFailure::kFinal);
  EXPECT_FALSE(list.knows(1));

  list.put_uncommitted(named(2, "second"));
  list.committed();
  list.failed(CommitFailure::kFinal);
  EXPECT_TRUE(list.find("second")) << "it was committed before";
}

// ---------------------------------------------------------------- as the database has them

class StoredSnapshotListTest : public testing::Test {
 protected:
  StoredSnapshotListTest() {
    EXPECT_TRUE(Database::create(folder_at(directory_.path() / "index")));
    database_ = Database::open(folder_at(directory_.path() / "index"), {.memory_bytes = 8 << 20}).value();
  }
  void store(const std::string& key, const std::string& value) {
    Database::Batch batch(*database_);
    batch.put(Family::kSnapshots, key, value);
    ASSERT_TRUE(database_->write(batch));
  }
  void store(const SnapshotRecord& record) { store(encode_snapshot_key(record.number), encode_snapshot(record)); }

  TempDir directory_;
  std::unique_ptr<Database> database_;
};

TEST_F(StoredSnapshotListTest, AllAreLoaded) {
  store(named(1, "first"));
  store(named(2, "second", true));

  const auto list = SnapshotList::load(*database_).value();

  EXPECT_THAT(list->all(), ElementsAre(named(1, "first")));
  EXPECT_THAT(list->deleted(), ElementsAre(named(2, "second", true)));
}

// Until fsck decides what becomes of it, its content must not go.
TEST_F(StoredSnapshotListTest, OneWhoseRecordIsDamagedIsSeenByNobodyAndAllIsPreservedForIt) {
  store(named(1, "first"));
  store(encode_snapshot_key(2), "damaged");
  store("no key", encode_snapshot(named(3, "third")));

  const auto list = SnapshotList::load(*database_).value();

  EXPECT_THAT(numbers_of(list->all()), ElementsAre(1));
  EXPECT_TRUE(list->knows(2));
  EXPECT_FALSE(list->find(TreeNumber{2}));
  EXPECT_FALSE(list->find("")) << "which is its name here";
  EXPECT_EQ(list->preservation()->number, 2U);
  EXPECT_EQ(list->preservation()->end_of_inodes, kEndOfInodes);
  EXPECT_EQ(list->older(3), 2U) << "nobody inherits past it";
}

}  // namespace
}  // namespace dedupfs
