#include "fs/estimate/tree_copy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "fs/estimate/scratch_settings.h"
#include "support/files.h"

namespace dedupfs {
namespace {

class TreeCopyTest : public testing::Test {
 protected:
  struct Found {
    Statistics statistics;
    SourceProblems problems;
  };
  Found copy() {
    const auto volume = value_of(ScratchVolume::make(scratch_settings()));
    const SourceTree tree({.roots = {path("")}});
    TreeCopy copy(tree, *volume, always());
    EXPECT_TRUE(ok(tree.walk(copy)));
    return {value_of(volume->statistics()), copy.problems()};
  }
  Path path(const Path& name) const { return dir_.path() / name; }

 private:
  const TempDir dir_;
};

TEST_F(TreeCopyTest, CopiesEachKindOfFile) {
  std::filesystem::create_directories(path("a/b"));
  std::filesystem::create_directories(path("c"));
  overwrite(path("a/b/file"), std::string(5000, 'x'));
  overwrite(path("c/other"), std::string(3000, 'y'));
  std::filesystem::create_symlink("nowhere", path("a/link"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);

  const Found found = copy();

  EXPECT_EQ(found.statistics.files, 2u);
  EXPECT_EQ(found.statistics.logical_bytes, 8000u);
  EXPECT_EQ(found.statistics.symlinks, 1u);
  EXPECT_EQ(found.statistics.special_files, 1u);
  EXPECT_EQ(found.statistics.directories, 5u) << "with the root of the volume, and the folder that was named";
  EXPECT_EQ(found.problems.unreadable, 0u);
}

// Of noise, so that the records of the index cannot be smaller. A disk takes 4 KiB for a file, or none at all.
TEST_F(TreeCopyTest, ExtendedAttributesTakeSpaceToo) {
  constexpr std::size_t kBytes = 2000;
  std::vector<Path> paths;
  for (unsigned i = 0; i < 20; i += 2) {
    paths.push_back(path("folder" + std::to_string(i)));
    std::filesystem::create_directories(paths.back());
    paths.push_back(paths.back() / "file");
    overwrite(paths.back(), "x");
  }
  const std::uint64_t before = copy().statistics.index_bytes;
  for (unsigned i = 0; i < paths.size(); ++i)
    if (::setxattr(paths[i].c_str(), "user.noise", random_text(kBytes, i).data(), kBytes, 0) != 0)
      GTEST_SKIP() << "the disk has no extended attributes";

  EXPECT_GT(copy().statistics.index_bytes, before + 15 * kBytes);
}

TEST_F(TreeCopyTest, AFileWithTwoNamesCountsOnce) {
  std::filesystem::create_directories(path("inner"));
  overwrite(path("a"), std::string(5000, 'x'));
  std::filesystem::create_hard_link(path("a"), path("inner/b"));

  const Found found = copy();

  EXPECT_EQ(found.statistics.files, 1u);
  EXPECT_EQ(found.statistics.logical_bytes, 5000u);
}

// As the walk saw it, and as it is when the copy comes.
TEST_F(TreeCopyTest, LeavesOutAndNamesWhatIsGoneOrWasReplacedSinceItWasSeen) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const auto volume = value_of(ScratchVolume::make(scratch_settings()));
  const SourceTree tree({.roots = {path("")}});
  TreeCopy copy(tree, *volume, always());
  SourceEntry entry;
  entry.status.st_mode = S_IFDIR;
  ASSERT_TRUE(ok(copy.visit(entry)));
  entry.depth = 1;
  entry.status.st_mode = S_IFREG;

  entry.name = "fifo";
  EXPECT_TRUE(ok(copy.visit(entry)));
  for (int i = 0; i < 11; ++i) {
    entry.name = "gone" + std::to_string(i);
    EXPECT_TRUE(ok(copy.visit(entry)));
  }

  EXPECT_EQ(value_of(volume->statistics()).files, 0u);
  EXPECT_EQ(copy.problems().unreadable, 12u);
  ASSERT_EQ(copy.problems().first.size(), 10u);
  EXPECT_NE(copy.problems().first[0].message().find("fifo"), std::string::npos);
  EXPECT_NE(copy.problems().first[1].message().find("gone0"), std::string::npos);
}

TEST_F(TreeCopyTest, CopiesADeepTree) {
  Path folder = path("");
  for (int depth = 0; depth < 500; ++depth) folder /= "d";
  std::filesystem::create_directories(folder);
  overwrite(folder / "file", "text");

  const Found found = copy();

  EXPECT_EQ(found.statistics.directories, 502u);
  EXPECT_EQ(found.statistics.files, 1u);
}

TEST_F(TreeCopyTest, ProgressEndsTheCopy) {
  overwrite(path("a"), "text");
  const auto volume = value_of(ScratchVolume::make(scratch_settings()));
  const SourceTree tree({.roots = {path("")}});
  TreeCopy copy(tree, *volume, [](std::uint64_t) -> Result<void> { return Error{ErrorCode::kInterrupted, "enough"}; });

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, tree.walk(copy)));
}

}  // namespace
}  // namespace dedupfs
