#include "fs/estimate/source_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/child_process.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

class Names final : public SourceVisitor {
 public:
  Result<void> visit(const SourceEntry& entry) override {
    names.push_back(std::to_string(entry.root) + ":" + entry.relative_path());
    return {};
  }
  void note_unreadable(const Error& error) override { unreadable.push_back(error.message()); }
  Result<void> go_on() override {
    if (wanted_questions == 0) return Error{ErrorCode::kInterrupted, "enough"};
    --wanted_questions;
    return {};
  }

  int wanted_questions = 1 << 30;
  std::vector<std::string> names;
  std::vector<std::string> unreadable;
};

class SourceTreeTest : public testing::Test {
 protected:
  Names walk(const std::vector<Path>& roots) const {
    Names found;
    EXPECT_TRUE(SourceTree({.roots = roots}).walk(found));
    return found;
  }
  Path path(const Path& name) const { return dir_.path() / name; }

 private:
  const TempDir dir_;
};

TEST_F(SourceTreeTest, VisitsTheRootsInTheirOrderAndFilesBeforeTheFoldersBesideThem) {
  std::filesystem::create_directories(path("tree/a/deep"));
  overwrite(path("tree/a/deep/x"), "1");
  overwrite(path("tree/b"), "2");
  overwrite(path("tree/z"), "3");
  overwrite(path("first"), "4");

  EXPECT_EQ(walk({path("first"), path("tree")}).names,
            (std::vector<std::string>{"0:", "1:", "1:b", "1:z", "1:a", "1:a/deep", "1:a/deep/x"}));
}

// A user who presses Ctrl-C does not wait for a million names.
TEST_F(SourceTreeTest, ALongListOfNamesCanBeEnded) {
  std::filesystem::create_directories(path("tree"));
  for (int i = 0; i < 2500; ++i) std::filesystem::create_directory(path("tree") / std::to_string(i));
  Names found;
  found.wanted_questions = 1;

  const auto walked = SourceTree({.roots = {path("tree")}}).walk(found);

  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(found.names, std::vector<std::string>{"0:"}) << "it ended in the list";
}

TEST_F(SourceTreeTest, FollowsALinkThatIsARootAndNoOther) {
  std::filesystem::create_directories(path("tree"));
  overwrite(path("tree/x"), "1");
  std::filesystem::create_symlink("tree", path("link"));
  std::filesystem::create_symlink("..", path("tree/up"));

  EXPECT_EQ(walk({path("link")}).names, (std::vector<std::string>{"0:", "0:up", "0:x"}));
}

TEST_F(SourceTreeTest, ARootThatIsMissingIsAnError) {
  Names found;
  const auto walked = SourceTree({.roots = {path("none")}}).walk(found);

  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().code(), ErrorCode::kNotFound);
}

TEST_F(SourceTreeTest, TellsOfAFolderThatItCannotReadAndGoesOn) {
  std::filesystem::create_directories(path("tree/a/inner"));
  overwrite(path("tree/x"), "1");
  std::filesystem::permissions(path("tree/a"), std::filesystem::perms::none);
  std::filesystem::permissions(path(""), std::filesystem::perms{0711});

  in_child_process([&] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0) {  // who reads everything
      ASSERT_EQ(::setresuid(kNobody, kNobody, kNobody), 0);
    }
    const Names found = walk({path("tree")});
    EXPECT_EQ(found.names, (std::vector<std::string>{"0:", "0:x", "0:a"}));
    EXPECT_EQ(found.unreadable.size(), 1u);
  });
  std::filesystem::permissions(path("tree/a"), std::filesystem::perms::owner_all);
}

// Deeper than a path can name: what is below is told of, and nothing else suffers.
TEST_F(SourceTreeTest, TellsOfFoldersThatAreTooDeepForAPath) {
  const std::string name(200, 'd');
  int folder = ::open(path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int depth = 0; depth < 30; ++depth) {
    ASSERT_EQ(::mkdirat(folder, name.c_str(), 0700), 0);
    const int inner = ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(folder);
    folder = inner;
  }
  ::close(folder);

  const Names found = walk({path("")});

  EXPECT_GT(found.names.size(), 15u);
  ASSERT_EQ(found.unreadable.size(), 1u);
  EXPECT_NE(found.unreadable[0].find(name), std::string::npos);
}

TEST(SourceFile, KnowsTheHolesOfAFile) {
  const TempDir dir;
  const Path path = dir.path() / "sparse";
  overwrite(path, std::string(65536, 'x'));
  std::filesystem::resize_file(path, std::uint64_t{1} << 40);

  const auto file = SourceFile::open(path, false);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), std::uint64_t{1} << 40);
  ASSERT_EQ(file->extents().size(), 1u);
  EXPECT_EQ(file->extents()[0].begin, 0u);
  EXPECT_LE(file->extents()[0].end, 1u << 20);
}

TEST(SourceFile, DoesNotWaitForTheWriterOfAFifo) {
  const TempDir dir;
  const Path path = dir.path() / "fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);

  const auto file = SourceFile::open(path, false);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kInvalidArgument);
}

TEST(SourceFile, FollowsNoLinkThatCameInPlaceOfAFile) {
  const TempDir dir;
  overwrite(dir.path() / "file", "x");
  std::filesystem::create_symlink("file", dir.path() / "link");

  EXPECT_FALSE(SourceFile::open(dir.path() / "link", false));
  EXPECT_TRUE(SourceFile::open(dir.path() / "link", true));
}

}  // namespace
}  // namespace dedupfs
