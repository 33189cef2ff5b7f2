#include "fs/trees/committed_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "fs/format/records.h"
#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Extended attributes of a file stand for any records.
struct CommittedTreeTest : testing::Test {
  TestFilesystem fs;
  const InodeNumber file = fs.make_file(kRootInode, "f");

  void set(const std::string& name, const std::string& value) {
    ASSERT_TRUE(ok(fs->set_xattr(file, name, value, Filesystem::XattrMode::kSet)));
  }
  void snapshot(std::string_view name) { ASSERT_TRUE(ok(fs->create_snapshot(name))); }
  std::shared_ptr<CommittedState> state() {
    EXPECT_TRUE(ok(fs->sync()));
    return std::make_shared<CommittedState>(fs->volume().database());
  }
  std::string key(std::string_view name) const { return encode_xattr_key(file, name); }
  static std::map<std::string, std::string> all_of(const CommittedTree& tree) {
    std::map<std::string, std::string> records;
    EXPECT_TRUE(ok(tree.walk(Family::kXattrs, encode_inode_key(0), encode_inode_key(kEndOfInodes),
                             [&](std::string_view stored, std::string_view value) -> Result<bool> {
                               records[std::string(stored.substr(8))] = value;
                               return true;
                             })));
    return records;
  }
};

TEST_F(CommittedTreeTest, HasTheRecordsOfItsMoment) {
  set("user.a", "1");
  set("user.c", "1");
  snapshot("one");
  set("user.a", "2");
  set("user.b", "2");
  ASSERT_TRUE(ok(fs->remove_xattr(file, "user.c")));
  snapshot("two");
  set("user.b", "3");
  const auto now = state();
  const CommittedTree one = value_of(CommittedTree::of_snapshot(now, "one"));
  const CommittedTree two = value_of(CommittedTree::of_snapshot(now, "two"));
  const CommittedTree live = CommittedTree::live(now);
  EXPECT_THAT(all_of(one), ElementsAre(Pair("user.a", "1"), Pair("user.c", "1")));
  EXPECT_THAT(all_of(two), ElementsAre(Pair("user.a", "2"), Pair("user.b", "2")));
  EXPECT_THAT(all_of(live), ElementsAre(Pair("user.a", "2"), Pair("user.b", "3")));
  for (const auto& [name, value] : all_of(one)) EXPECT_EQ(value_of(one.get(Family::kXattrs, key(name))), value);
  EXPECT_EQ(value_of(one.get(Family::kXattrs, key("user.b"))), std::nullopt);
  EXPECT_EQ(value_of(two.get(Family::kXattrs, key("user.b"))), "2");
  EXPECT_EQ(value_of(live.get(Family::kXattrs, key("user.b"))), "3");
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, CommittedTree::of_snapshot(now, "three")));
}

TEST_F(CommittedTreeTest, DoesNotSeeLaterCommits) {
  set("user.a", "1");
  const CommittedTree live = CommittedTree::live(state());
  set("user.a", "2");
  ASSERT_TRUE(ok(fs->sync()));
  EXPECT_EQ(value_of(live.get(Family::kXattrs, key("user.a"))), "1");
}

TEST_F(CommittedTreeTest, AWalkEndsWhenItsVisitorWantsNoMore) {
  for (const char* name : {"user.a", "user.b", "user.c"}) set(name, "1");
  snapshot("one");
  for (const char* name : {"user.a", "user.b", "user.c"}) set(name, "2");
  const auto now = state();
  for (const CommittedTree& tree : {value_of(CommittedTree::of_snapshot(now, "one")), CommittedTree::live(now)}) {
    int visited = 0;
    EXPECT_TRUE(ok(tree.walk(Family::kXattrs, encode_inode_key(0), encode_inode_key(kEndOfInodes),
                             [&](std::string_view, std::string_view) -> Result<bool> { return ++visited < 2; })));
    EXPECT_EQ(visited, 2);
  }
}

TEST_F(CommittedTreeTest, TellsWhatChangedBetweenTwo) {
  set("user.a", "1");
  set("user.b", "1");
  set("user.back", "1");
  snapshot("one");
  set("user.a", "2");
  set("user.back", "2");
  snapshot("between");
  set("user.back", "1");
  snapshot("two");
  set("user.b", "3");
  const auto now = state();
  std::map<std::string, std::pair<std::string, std::string>> changes;
  EXPECT_TRUE(
      ok(value_of(CommittedTree::of_snapshot(now, "one"))
             .walk_changes(value_of(CommittedTree::of_snapshot(now, "two")), Family::kXattrs,
                           [&](std::string_view stored, const auto& before, const auto& after) -> Result<void> {
                             changes[std::string(stored.substr(8))] = {before.value_or("-"), after.value_or("-")};
                             return {};
                           })));
  EXPECT_THAT(changes, ElementsAre(Pair("user.a", Pair("1", "2"))));
}

TEST_F(CommittedTreeTest, DamagedImagesAreReported) {
  set("user.a", "1");
  snapshot("one");
  set("user.a", "2");
  ASSERT_TRUE(ok(fs->sync()));
  Database& database = fs->volume().database();
  const auto images = value_of(database.list(Family::kBeforeImages, {}, {}, SIZE_MAX));
  Database::Batch batch(database);
  for (const auto& [stored, value] : images) batch.put(Family::kBeforeImages, stored, "\x09");
  ASSERT_TRUE(ok(database.write(batch)));
  const CommittedTree one = value_of(CommittedTree::of_snapshot(state(), "one"));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, one.get(Family::kXattrs, key("user.a"))));
}

}  // namespace
}  // namespace dedupfs
