#include "fs/snapshots/tree_diff.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fs/trees/inode_paths.h"
#include "snapshots_of_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using ChangeKind = TreeChange::Kind;
using RenameMode = Filesystem::RenameMode;

std::string line_of(const TreeChange& change) {
  std::string line = std::string(1, "+-MR"[static_cast<int>(change.kind)]) + " " + change.path;
  if (!change.old_path.empty()) line += " < " + change.old_path;
  if (change.content) line += " content";
  if (change.old_inode != 0) line += " replaced";
  for (const std::string_view attribute : change.attributes) line += " " + std::string(attribute);
  return line;
}

struct TreeDiffTest : SnapshotsOfFilesystem {
  TreeDiff diff(std::string_view from, std::optional<std::string_view> to = std::nullopt) {
    EXPECT_TRUE(ok(fs_->sync()));
    return value_of(diff_trees(fs_->volume().database(), from, to));
  }
  std::vector<std::string> lines(std::string_view from, std::optional<std::string_view> to = std::nullopt) {
    std::vector<std::string> lines;
    for (const TreeChange& change : diff(from, to).changes) lines.push_back(line_of(change));
    return lines;
  }
  void snapshot(std::string_view name) { ASSERT_TRUE(ok(fs_->create_snapshot(name))); }
  void rename(InodeNumber from, std::string_view old_name, InodeNumber to, std::string_view new_name) {
    EXPECT_TRUE(ok(fs_->rename(from, old_name, to, new_name, RenameMode::kReplace)));
  }
};

TEST_F(TreeDiffTest, NamesWhatWasAddedRemovedModifiedAndRenamed) {
  const InodeNumber d = fs_.make_directory(kRootInode, "d");
  const InodeNumber modified = fs_.make_file(d, "modified", "old");
  const InodeNumber chmodded = fs_.make_file(d, "chmodded", "same");
  fs_.make_file(d, "gone", "gone");
  fs_.make_file(d, "renamed", "stays");
  fs_.make_file(d, "untouched", "untouched");
  snapshot("a");
  fs_.write(modified, 0, "new content");
  EXPECT_TRUE(ok(fs_->set_attributes(chmodded, {.mode = 0600, .uid = 7}, {})));
  EXPECT_TRUE(ok(fs_->set_xattr(chmodded, "user.note", "x", Filesystem::XattrMode::kSet)));
  EXPECT_TRUE(ok(fs_->unlink(d, "gone")));
  rename(d, "renamed", kRootInode, "moved");
  fs_.make_file(d, "added", "added");
  const std::vector<std::string> expected = {"+ d/added", "M d/chmodded mode uid xattrs", "- d/gone",
                                             "M d/modified content mtime", "R moved < d/renamed"};
  EXPECT_EQ(lines("a"), expected);
  snapshot("b");
  EXPECT_TRUE(ok(fs_->unlink(kRootInode, "moved")));
  EXPECT_EQ(lines("a", "b"), expected);
  EXPECT_THAT(lines("b"), ElementsAre("- moved"));
  EXPECT_THAT(lines("a", "a"), IsEmpty());
  fs_.reopen(/*read_only=*/true);
  EXPECT_EQ(lines("a", "b"), expected);
}

TEST_F(TreeDiffTest, SaysWhatChanged) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", "12345");
  const InodeNumber gone = fs_.make_file(kRootInode, "gone", "1");
  snapshot("a");
  fs_.write(file, 5, "6789");
  EXPECT_TRUE(ok(fs_->unlink(kRootInode, "gone")));
  fs_->forget(gone, 1);
  const InodeNumber link = value_of(fs_->make_symlink(kRootInode, "link", "f", {})).inode;
  const auto changes = diff("a").changes;
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0], (TreeChange{.kind = ChangeKind::kModified,
                                    .type = S_IFREG,
                                    .inode = file,
                                    .path = "f",
                                    .content = true,
                                    .attributes = {"mtime"},
                                    .size = 9,
                                    .old_size = 5}));
  EXPECT_EQ(changes[1],
            (TreeChange{.kind = ChangeKind::kRemoved, .type = S_IFREG, .inode = gone, .path = "gone", .old_size = 1}));
  EXPECT_EQ(changes[2], (TreeChange{.kind = ChangeKind::kAdded, .type = S_IFLNK, .inode = link, .path = "link"}));
}

TEST_F(TreeDiffTest, AFileThatAnotherReplacedWasModified) {
  fs_.make_file(kRootInode, "f", "old");
  fs_.make_file(kRootInode, "same", "same");
  fs_.make_file(kRootInode, "type", "file");
  snapshot("a");
  fs_.make_file(kRootInode, "f.new", "new");
  rename(kRootInode, "f.new", kRootInode, "f");
  fs_.make_file(kRootInode, "same.new", "same");
  rename(kRootInode, "same.new", kRootInode, "same");
  EXPECT_TRUE(ok(fs_->unlink(kRootInode, "type")));
  fs_.make_directory(kRootInode, "type");
  EXPECT_THAT(lines("a"), ElementsAre("M f content replaced mtime", "M same replaced mtime", "+ type", "- type"));
}

TEST_F(TreeDiffTest, AFileThatReplacesAnotherOfTheSnapshotWasRenamed) {
  fs_.make_file(kRootInode, "a", "a");
  fs_.make_file(kRootInode, "b", "b");
  snapshot("s");
  rename(kRootInode, "a", kRootInode, "b");
  EXPECT_THAT(lines("s"), ElementsAre("- b", "R b < a"));
}

TEST_F(TreeDiffTest, OfARenamedFolderOnlyItselfIsListed) {
  const InodeNumber old_folder = fs_.make_directory(kRootInode, "old");
  const InodeNumber below = fs_.make_directory(old_folder, "below");
  const InodeNumber file = fs_.make_file(below, "f", "content");
  snapshot("a");
  rename(kRootInode, "old", kRootInode, "new");
  EXPECT_THAT(lines("a"), ElementsAre("R new < old"));
  fs_.write(file, 0, "CONTENT");
  EXPECT_TRUE(ok(fs_->unlink(below, "f")));
  EXPECT_THAT(lines("a"), ElementsAre("R new < old", "- old/below/f"));
}

TEST_F(TreeDiffTest, EachNameOfAFileCounts) {
  const InodeNumber file = fs_.make_file(kRootInode, "1", "content");
  value_of(fs_->make_link(file, kRootInode, "2"));
  snapshot("a");
  value_of(fs_->make_link(file, kRootInode, "3"));
  value_of(fs_->make_link(file, kRootInode, "4"));
  EXPECT_TRUE(ok(fs_->unlink(kRootInode, "2")));
  EXPECT_THAT(lines("a"), ElementsAre("R 3 < 2", "+ 4"));
}

TEST_F(TreeDiffTest, WhatCameAndWentInBetweenIsNoChange) {
  const InodeNumber folder = fs_.make_directory(kRootInode, "d");
  snapshot("a");
  fs_.make_file(folder, "temporary", "x");
  snapshot("between");
  EXPECT_TRUE(ok(fs_->unlink(folder, "temporary")));
  EXPECT_THAT(lines("a"), ElementsAre("M d mtime"));
}

TEST_F(TreeDiffTest, AFileThatIsOnlyOpenHasNoName) {
  const InodeNumber file = fs_.make_file(kRootInode, "open", "content");
  snapshot("a");
  ASSERT_TRUE(ok(fs_->open_file(file, false, {})));
  EXPECT_TRUE(ok(fs_->unlink(kRootInode, "open")));
  EXPECT_THAT(lines("a"), ElementsAre("- open"));
  fs_.write(file, 0, "CONTENT");
  snapshot("b");
  fs_->release_file(file, true);
  fs_->forget(file, 1);
  EXPECT_THAT(lines("b"), IsEmpty());
}

TEST_F(TreeDiffTest, RefusesWhatIsNotThereAndTheWrongOrder) {
  snapshot("a");
  snapshot("b");
  const Database& database = fs_->volume().database();
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, diff_trees(database, "never", std::nullopt)));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, diff_trees(database, "a", "never")));
  const auto wrong = diff_trees(database, "b", "a");
  ASSERT_TRUE(fails_with(ErrorCode::kInvalidArgument, wrong));
  EXPECT_THAT(wrong.error().message(), HasSubstr("'a' is older than 'b'"));
}

TEST_F(TreeDiffTest, StaysRightWhenSnapshotsInBetweenGo) {
  const InodeNumber file = fs_.make_file(kRootInode, "f", "first");
  snapshot("a");
  fs_.write(file, 0, "secnd");
  snapshot("b");
  fs_.make_file(kRootInode, "g", "g");
  snapshot("c");
  const auto before = lines("a", "c");
  ASSERT_TRUE(ok(fs_->delete_snapshot("b")));
  EXPECT_EQ(lines("a", "c"), before);
  ASSERT_TRUE(cleaned_up());
  EXPECT_EQ(lines("a", "c"), before);
  EXPECT_THAT(before, ElementsAre("M f content mtime", "+ g"));
}

TEST_F(TreeDiffTest, ReadsWhatChangedAndNotAllFiles) {
  constexpr int kFolders = 100;
  constexpr int kFilesEach = 50;
  std::vector<InodeNumber> folders, files;
  for (int f = 0; f < kFolders; ++f) {
    folders.push_back(fs_.make_directory(kRootInode, fmt::format("folder{}", f)));
    for (int i = 0; i < kFilesEach; ++i) {
      files.push_back(fs_.make_file(folders.back(), fmt::format("f{}", i)));
      fs_->forget(files.back(), 1);
    }
  }
  snapshot("a");
  for (int i = 0; i < 5; ++i) fs_.write(files[static_cast<std::size_t>(i * 1000)], 0, "changed");
  EXPECT_TRUE(ok(fs_->unlink(folders[7], "f7")));
  const TreeDiff found = diff("a");
  EXPECT_EQ(found.changes.size(), 6U);
  EXPECT_LT(found.records_read, 1200U);  // of 15,000: five folders, the names in the root, the changes
}

TEST_F(TreeDiffTest, EndsOnceItIsNotWanted) {
  snapshot("a");
  for (int i = 0; i < 300; ++i) fs_->forget(fs_.make_file(kRootInode, fmt::format("f{}", i)), 1);
  EXPECT_TRUE(ok(fs_->sync()));
  const auto not_wanted = [] { return Result<void>(Error{ErrorCode::kInterrupted, "not wanted"}); };
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, diff_trees(fs_->volume().database(), "a", std::nullopt, not_wanted)));
}

// --- random changes: the difference is that of two trees that are walked
struct WalkedInode {
  Attributes attributes;
  std::string content;  // of a symbolic link: its target
  std::map<std::string, std::string> xattrs;
  std::map<Link, std::string> links;  // and the path of each
};
using WalkedTree = std::map<InodeNumber, WalkedInode>;

void walk(TestFilesystem& fs, InodeNumber folder, const std::string& path, WalkedTree& tree) {
  for (const DirectoryEntry& entry : fs.list(folder, 2)) {
    const InodeNumber number = inode_of(entry.attributes.inode);
    WalkedInode& inode = tree[number];
    inode.links[{inode_of(folder), entry.name}] = path + entry.name;
    inode.attributes = fs.attributes(entry.attributes.inode);
    if (is_regular(inode.attributes.mode)) inode.content = fs.content(entry.attributes.inode);
    if (is_symlink(inode.attributes.mode)) inode.content = value_of(fs->read_symlink(entry.attributes.inode));
    for (const std::string& name : value_of(fs->list_xattrs(entry.attributes.inode)))
      inode.xattrs[name] = value_of(fs->get_xattr(entry.attributes.inode, name));
    if (is_directory(inode.attributes.mode)) walk(fs, entry.attributes.inode, path + entry.name + "/", tree);
  }
}

class RandomChanges {
 public:
  RandomChanges(TestFilesystem& fs, unsigned seed) : fs_(fs), random_(seed) {}

  void change() {
    const InodeNumber folder = any_folder();
    const std::string name(1, static_cast<char>('a' + pick(8)));
    const auto there = fs_->lookup(folder, name);
    if (there) fs_->forget(there->inode, 1);
    switch (pick(10)) {
      case 0:
      case 1:
        if (!there) fs_->forget(fs_.make_file(folder, name, text()), 1);
        break;
      case 2:
        if (!there) fs_->forget(fs_.make_directory(folder, name), 1);
        break;
      case 3: (void)fs_->unlink(folder, name); break;
      case 4: (void)fs_->remove_directory(folder, name); break;
      case 5:
        (void)fs_->rename(folder, name, any_folder(), std::string(1, static_cast<char>('a' + pick(8))), mode());
        break;
      case 6:
        if (!there && any_file())
          if (const auto linked = fs_->make_link(*any_file_, folder, name)) fs_->forget(linked->inode, 1);
        break;
      case 7:
        if (any_file()) fs_.write(*any_file_, pick(20'000), text());
        break;
      case 8:
        if (any_file()) (void)fs_->set_attributes(*any_file_, {.mode = static_cast<std::uint32_t>(pick(01000))}, {});
        break;
      default:
        if (any_file()) (void)fs_->set_xattr(*any_file_, "user.x", text(), Filesystem::XattrMode::kSet);
    }
  }

 private:
  std::uint64_t pick(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_); }
  std::string text() { return random_text(1 + pick(9000), static_cast<unsigned>(random_())); }
  RenameMode mode() { return pick(4) == 0 ? RenameMode::kExchange : RenameMode::kReplace; }
  std::vector<InodeNumber> entries(InodeNumber folder, bool folders) {
    std::vector<InodeNumber> found;
    for (const DirectoryEntry& entry : fs_.list(folder, 2))
      if (is_directory(entry.attributes.mode) == folders) found.push_back(entry.attributes.inode);
    return found;
  }
  InodeNumber any_folder() {
    InodeNumber folder = kRootInode;
    while (pick(3) != 0) {
      const auto below = entries(folder, true);
      if (below.empty()) break;
      folder = below[pick(below.size())];
    }
    return folder;
  }
  bool any_file() {
    const auto files = entries(any_folder(), false);
    any_file_ = files.empty() ? std::nullopt : std::optional(files[pick(files.size())]);
    return any_file_.has_value();
  }

  TestFilesystem& fs_;
  std::mt19937_64 random_;
  std::optional<InodeNumber> any_file_;
};

std::set<std::string> paths_of(const std::map<Link, std::string>& links) {
  std::set<std::string> paths;
  for (const auto& [link, path] : links) paths.insert(path);
  return paths;
}

// Takes the changes apart into names that came and went, and inodes that changed, and compares them with those of walked trees.
void expect_difference(const TreeDiff& diff, const WalkedTree& before, const WalkedTree& after) {
  std::set<std::pair<InodeNumber, std::string>> gone, come, expected_gone, expected_come;
  std::map<InodeNumber, const TreeChange*> modified;
  for (const TreeChange& change : diff.changes) {
    const bool is_replaced = change.old_inode != 0;
    if (change.kind == ChangeKind::kAdded || change.kind == ChangeKind::kRenamed || is_replaced)
      come.emplace(change.inode, change.path);
    if (change.kind == ChangeKind::kRemoved) gone.emplace(change.inode, change.path);
    if (change.kind == ChangeKind::kRenamed) gone.emplace(change.inode, change.old_path);
    // A name that stays while the folders above it are renamed has another path in the older tree.
    if (is_replaced)
      for (const auto& [link, path] : after.at(change.inode).links)
        if (path == change.path) gone.emplace(change.old_inode, before.at(change.old_inode).links.at(link));
    if (change.kind == ChangeKind::kModified && !is_replaced) {
      EXPECT_TRUE(modified.emplace(change.inode, &change).second);
      EXPECT_TRUE(paths_of(after.at(change.inode).links).contains(change.path)) << change.path;
    }
    if (is_replaced) {
      EXPECT_EQ(change.content, before.at(change.old_inode).content != after.at(change.inode).content);
    }
  }
  const WalkedInode none;
  const auto in = [&](const WalkedTree& tree, InodeNumber inode) -> const WalkedInode& {
    const auto found = tree.find(inode);
    return found == tree.end() ? none : found->second;
  };
  std::set<InodeNumber> all;
  for (const auto& [inode, walked] : before) all.insert(inode);
  for (const auto& [inode, walked] : after) all.insert(inode);
  for (const InodeNumber inode : all) {
    const WalkedInode& was = in(before, inode);
    const WalkedInode& is = in(after, inode);
    for (const auto& [link, path] : was.links)
      if (!is.links.contains(link)) expected_gone.emplace(inode, path);
    for (const auto& [link, path] : is.links)
      if (!was.links.contains(link)) expected_come.emplace(inode, path);
    if (was.links.empty() || is.links.empty()) continue;
    const auto found = modified.find(inode);
    const auto has = [&](std::string_view attribute) {
      return found != modified.end() && std::ranges::count(found->second->attributes, attribute) == 1;
    };
    EXPECT_EQ(has("mode"), was.attributes.mode != is.attributes.mode);
    EXPECT_EQ(has("xattrs"), was.xattrs != is.xattrs);
    if (!is_directory(is.attributes.mode)) {
      EXPECT_EQ(has("mtime"), was.attributes.mtime != is.attributes.mtime);
    }
    EXPECT_EQ(found != modified.end() && found->second->content, was.content != is.content);
  }
  EXPECT_EQ(come, expected_come);
  EXPECT_EQ(gone, expected_gone);
}

TEST_F(TreeDiffTest, IsTheDifferenceOfTwoWalkedTrees) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    TestFilesystem fs;
    RandomChanges changes(fs, seed);
    std::map<std::string, WalkedTree> trees;
    std::vector<std::string> names;
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 60; ++i) changes.change();
      names.push_back(fmt::format("s{}", round));
      ASSERT_TRUE(ok(fs->create_snapshot(names.back())));
      walk(fs, kRootInode, "", trees[names.back()]);
      if (round == 3) {
        ASSERT_TRUE(ok(fs->delete_snapshot("s1")));
        std::erase(names, "s1");
      }
    }
    for (int i = 0; i < 30; ++i) changes.change();
    walk(fs, kRootInode, "", trees["now"]);
    EXPECT_TRUE(ok(fs->sync()));
    const Database& database = fs->volume().database();
    for (std::size_t from = 0; from < names.size(); ++from) {
      for (std::size_t to = from + 1; to < names.size(); ++to) {
        SCOPED_TRACE(names[from] + " to " + names[to]);
        expect_difference(value_of(diff_trees(database, names[from], names[to])), trees[names[from]], trees[names[to]]);
      }
      SCOPED_TRACE(names[from] + " to now");
      expect_difference(value_of(diff_trees(database, names[from], std::nullopt)), trees[names[from]], trees["now"]);
    }
  }
}

}  // namespace
}  // namespace dedupfs
