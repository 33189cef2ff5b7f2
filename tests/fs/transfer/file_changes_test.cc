#include "fs/transfer/file_changes.h"

#include "fs/transfer/two_trees.h"

namespace dedupfs::transfer {
namespace {

class FileChangesTest : public TwoTrees {
 protected:
  // The ranges that changed from one snapshot to the other.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> changed(InodeNumber inode) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    const CommittedTree older = tree("older");
    EXPECT_TRUE(ok(visit_changed_entries(&older, tree("newer"), inode, [&](const ChangedEntry& entry) -> Result<void> {
      if (!entry.is_same) ranges.emplace_back(entry.offset, entry.offset + entry.entry.length);
      return {};
    })));
    return ranges;
  }
};

TEST_F(FileChangesTest, AnUnchangedFileHasNone) {
  const InodeNumber file = fs_.make_file(kRootInode, "file", random_text(300'000, 1));
  snapshot("older");
  ASSERT_TRUE(ok(fs_->set_attributes(file, {.mode = 0600}, {})));
  snapshot("newer");
  EXPECT_TRUE(changed(file).empty());
}

TEST_F(FileChangesTest, ChangesAreAroundWhatWasWritten) {
  const InodeNumber file = fs_.make_file(kRootInode, "file", random_text(8 << 20, 1));
  snapshot("older");
  fs_.write(file, 5'000'000, "changed");
  snapshot("newer");

  const auto ranges = changed(file);

  ASSERT_FALSE(ranges.empty());
  EXPECT_LE(ranges.front().first, 5'000'000u);
  EXPECT_GE(ranges.back().second, 5'000'007u);
  EXPECT_LT(ranges.back().second - ranges.front().first, 200'000u);
}

TEST_F(FileChangesTest, WithoutAnOlderVersionAllIsNew) {
  const InodeNumber file = fs_.make_file(kRootInode, "file", random_text(300'000, 1));
  snapshot("newer");
  std::uint64_t end = 0;
  EXPECT_TRUE(ok(visit_changed_entries(nullptr, tree("newer"), file, [&](const ChangedEntry& entry) -> Result<void> {
    EXPECT_EQ(entry.offset, end);
    EXPECT_FALSE(entry.is_same);
    end = entry.offset + entry.entry.length;
    return {};
  })));
  EXPECT_EQ(end, 300'000u);
  EXPECT_EQ(value_of(end_of_recipe(tree("newer"), file)), 300'000u);
}

TEST_F(FileChangesTest, AnEmptyRecipeEndsAtTheBeginning) {
  const InodeNumber file = fs_.make_file(kRootInode, "file");
  snapshot("newer");
  EXPECT_EQ(value_of(end_of_recipe(tree("newer"), file)), 0u);
}

TEST_F(FileChangesTest, AnErrorOfTheVisitorEndsIt) {
  const InodeNumber file = fs_.make_file(kRootInode, "file", random_text(300'000, 1));
  snapshot("newer");
  int calls = 0;
  EXPECT_TRUE(fails_with(ErrorCode::kNoSpace,
                         visit_changed_entries(nullptr, tree("newer"), file, [&](const ChangedEntry&) -> Result<void> {
                           ++calls;
                           return Error{ErrorCode::kNoSpace, "full"};
                         })));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace dedupfs::transfer
