#include "fs/trees/changed_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fs/test_filesystem.h"
#include "index/database.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct ChangedRecordsTest : testing::Test {
  TestFilesystem fs;

  struct Seen {
    std::set<InodeNumber> inodes, xattrs, recipes;
    std::vector<std::string> names;
  };
  Result<Seen> between(std::string_view older, std::string_view newer) {
    EXPECT_TRUE(ok(fs->sync()));
    const auto state = std::make_shared<CommittedState>(fs->volume().database());
    Seen seen;
    const ChangeVisitor visitor{.visit_inode = [&](InodeNumber inode) { seen.inodes.insert(inode); },
                                .visit_dirent =
                                    [&](const ChangedDirent& changed) {
                                      seen.names.push_back(std::to_string(changed.parent) + "/" + changed.name + ": " +
                                                           std::to_string(changed.before.inode) + " " +
                                                           std::to_string(changed.after.inode));
                                    },
                                .visit_xattr = [&](InodeNumber inode) { seen.xattrs.insert(inode); },
                                .visit_recipe = [&](InodeNumber inode) { seen.recipes.insert(inode); }};
    DEDUPFS_TRY(visit_changes(value_of(CommittedTree::of_snapshot(state, older)),
                              value_of(CommittedTree::of_snapshot(state, newer)), visitor));
    return seen;
  }
  void snapshot(std::string_view name) { ASSERT_TRUE(ok(fs->create_snapshot(name))); }
  static std::string name_of(std::string_view name, InodeNumber before, InodeNumber after) {
    return std::to_string(kRootInode) + "/" + std::string(name) + ": " + std::to_string(before) + " " +
           std::to_string(after);
  }
};

TEST_F(ChangedRecordsTest, NothingChangesWhereNothingIsDone) {
  fs.make_file(kRootInode, "f");
  snapshot("one");
  snapshot("two");
  const Seen seen = value_of(between("one", "two"));
  EXPECT_THAT(seen.inodes, IsEmpty());
  EXPECT_THAT(seen.names, IsEmpty());
  EXPECT_THAT(seen.xattrs, IsEmpty());
  EXPECT_THAT(seen.recipes, IsEmpty());
}

TEST_F(ChangedRecordsTest, ANameIsGoneAndAnotherOneCame) {
  const InodeNumber old = fs.make_file(kRootInode, "old");
  fs.make_file(kRootInode, "same");
  snapshot("one");
  ASSERT_TRUE(ok(fs->rename(kRootInode, "old", kRootInode, "new", Filesystem::RenameMode::kReplace)));
  const InodeNumber made = fs.make_file(kRootInode, "made");
  snapshot("two");
  EXPECT_THAT(value_of(between("one", "two")).names,
              UnorderedElementsAre(name_of("old", old, 0), name_of("new", 0, old), name_of("made", 0, made)));
}

TEST_F(ChangedRecordsTest, ANameThatLeadsToAnotherInodeHasBoth) {
  const InodeNumber old = fs.make_file(kRootInode, "f");
  snapshot("one");
  const InodeNumber replacement = fs.make_file(kRootInode, "f.new");
  ASSERT_TRUE(ok(fs->rename(kRootInode, "f.new", kRootInode, "f", Filesystem::RenameMode::kReplace)));
  snapshot("two");
  const Seen seen = value_of(between("one", "two"));
  EXPECT_THAT(seen.names, ElementsAre(name_of("f", old, replacement)));
  EXPECT_TRUE(seen.inodes.contains(replacement));
}

TEST_F(ChangedRecordsTest, ANameThatOnlyMovedInItsFolderIsNoChange) {
  fs.make_file(kRootInode, "f");
  snapshot("one");
  ASSERT_TRUE(ok(fs->rename(kRootInode, "f", kRootInode, "g", Filesystem::RenameMode::kReplace)));
  ASSERT_TRUE(ok(fs->rename(kRootInode, "g", kRootInode, "f", Filesystem::RenameMode::kReplace)));
  snapshot("two");
  EXPECT_THAT(value_of(between("one", "two")).names, IsEmpty());
}

TEST_F(ChangedRecordsTest, AttributesAndContentsAreToldApart) {
  const InodeNumber attributed = fs.make_file(kRootInode, "attributed");
  const InodeNumber written = fs.make_file(kRootInode, "written");
  snapshot("one");
  ASSERT_TRUE(ok(fs->set_xattr(attributed, "user.a", "1", Filesystem::XattrMode::kSet)));
  fs.write(written, 0, "content");
  snapshot("two");
  const Seen seen = value_of(between("one", "two"));
  EXPECT_THAT(seen.xattrs, ElementsAre(attributed));
  EXPECT_THAT(seen.recipes, ElementsAre(written));
  EXPECT_THAT(seen.names, IsEmpty());
}

TEST_F(ChangedRecordsTest, ARecordThatCannotBeDecodedIsReported) {
  fs.make_file(kRootInode, "f");
  snapshot("one");
  fs.make_file(kRootInode, "g");
  snapshot("two");
  ASSERT_TRUE(ok(fs->sync()));
  Database& database = fs->volume().database();
  Database::Batch batch(database);
  batch.put(Family::kDirents, encode_dirent_key(kRootInode, "g"), "\x09");
  ASSERT_TRUE(ok(database.write(batch)));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, between("one", "two")));
}

}  // namespace
}  // namespace dedupfs
