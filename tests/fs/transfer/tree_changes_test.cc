#include "fs/transfer/tree_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "fs/transfer/two_trees.h"
#include "fs/trees/named_inode.h"

namespace dedupfs::transfer {
namespace {

std::string text_of_name(const Record& record) {
  if (const auto* removed = std::get_if<RemovedName>(&record))
    return fmt::format("- {} {}{}", removed->parent, removed->name, removed->inode_stays ? " stays" : "");
  if (const auto* made = std::get_if<MadeInode>(&record)) return fmt::format("new {} {}", made->parent, made->name);
  if (const auto* placed = std::get_if<PlacedName>(&record))
    return fmt::format("+ {} {}", placed->parent, placed->name);
  return "another record";
}

class TreeChangesTest : public TwoTrees {
 protected:
  template <class Names>
  static std::vector<std::string> names_of(Names& names) {
    std::vector<std::string> lines;
    EXPECT_TRUE(ok(names.visit_names([&](const Record& record) -> Result<void> {
      lines.push_back(text_of_name(record));
      return {};
    })));
    return lines;
  }
  std::vector<std::string> changed() {
    TreeChanges changes(older(), newer());
    EXPECT_TRUE(ok(changes.collect()));
    return names_of(changes);
  }
  const CommittedTree& older() { return older_ ? *older_ : older_.emplace(tree("older")); }
  const CommittedTree& newer() { return newer_ ? *newer_ : newer_.emplace(tree("newer")); }

  std::optional<CommittedTree> older_, newer_;
};

using Lines = std::vector<std::string>;

TEST_F(TreeChangesTest, AllNamesOfATreeComeWithTheirFoldersFirst) {
  const InodeNumber folder = fs_.make_directory(kRootInode, "folder");
  const InodeNumber file = fs_.make_file(folder, "file");
  value_of(fs_->make_link(file, kRootInode, "another"));
  snapshot("newer");
  WholeTree names(newer());

  EXPECT_EQ(names_of(names), (Lines{"new 1 folder", "new 1 another", fmt::format("+ {} file", folder)}));
  EXPECT_EQ(names.take_inodes(), (std::vector<InodeNumber>{kRootInode, folder, file}));
}

TEST_F(TreeChangesTest, NewFoldersComeBeforeWhatIsInThem) {
  const InodeNumber moved = fs_.make_file(kRootInode, "moved");
  snapshot("older");
  const InodeNumber outer = fs_.make_directory(kRootInode, "outer");
  const InodeNumber inner = fs_.make_directory(outer, "inner");
  fs_.make_file(inner, "file");
  ASSERT_TRUE(ok(fs_->rename(kRootInode, "moved", inner, "a", RenameMode::kReplace)));
  snapshot("newer");

  const Lines names = changed();

  const auto at = [&](const std::string& line) { return std::ranges::find(names, line) - names.begin(); };
  EXPECT_EQ(names.size(), 5u);
  EXPECT_EQ(at("- 1 moved stays"), 0);
  EXPECT_LT(at("new 1 outer"), at(fmt::format("new {} inner", outer)));
  EXPECT_LT(at(fmt::format("new {} inner", outer)), at(fmt::format("new {} file", inner)));
  EXPECT_LT(at(fmt::format("new {} inner", outer)), at(fmt::format("+ {} a", inner)));
  EXPECT_TRUE(value_of(named_inode(newer(), moved)));
}

TEST_F(TreeChangesTest, FoldersThatChangePlacesAreTakenAwayFirst) {
  fs_.make_directory(kRootInode, "a");
  fs_.make_directory(kRootInode, "b");
  snapshot("older");
  ASSERT_TRUE(ok(fs_->rename(kRootInode, "a", kRootInode, "b", RenameMode::kExchange)));
  snapshot("newer");

  EXPECT_EQ(changed(), (Lines{"- 1 a stays", "- 1 b stays", "+ 1 a", "+ 1 b"}));
}

TEST_F(TreeChangesTest, AFileThatReplacedAnotherKnowsIt) {
  const InodeNumber old_file = fs_.make_file(kRootInode, "file", "old");
  snapshot("older");
  const InodeNumber new_file = fs_.make_file(kRootInode, "temporary", "new");
  ASSERT_TRUE(ok(fs_->rename(kRootInode, "temporary", kRootInode, "file", RenameMode::kReplace)));
  snapshot("newer");
  TreeChanges changes(older(), newer());
  ASSERT_TRUE(ok(changes.collect()));

  EXPECT_EQ(changes.predecessor_of(new_file), old_file);
  EXPECT_EQ(changes.predecessor_of(old_file), 0u);
  EXPECT_EQ(changes.maker_of(new_file), (Link{kRootInode, "file"}));
  EXPECT_FALSE(changes.maker_of(kRootInode));
  EXPECT_EQ(names_of(changes), (Lines{"- 1 file", "new 1 file"}));
}

TEST_F(TreeChangesTest, ChangesOfContentAndAttributesAreNoNames) {
  const InodeNumber file = fs_.make_file(kRootInode, "file", random_text(10'000, 1));
  const InodeNumber other = fs_.make_file(kRootInode, "other");
  const InodeNumber same = fs_.make_file(kRootInode, "same");
  snapshot("older");
  fs_.write(file, 0, "changed");
  ASSERT_TRUE(ok(fs_->set_xattr(other, "user.a", "b", XattrMode::kSet)));
  snapshot("newer");
  TreeChanges changes(older(), newer());
  ASSERT_TRUE(ok(changes.collect()));

  EXPECT_TRUE(names_of(changes).empty());
  EXPECT_TRUE(changes.inodes().contains(file));
  EXPECT_TRUE(changes.inodes().contains(other));
  EXPECT_FALSE(changes.inodes().contains(same));
}

}  // namespace
}  // namespace dedupfs::transfer
