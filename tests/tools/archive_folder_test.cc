#include "archive_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <filesystem>

#include "fs/test_filesystem.h"
#include "support/files.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

class ArchiveFoldersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::setxattr(dir_.path().c_str(), "user.test", "", 0, 0) != 0) GTEST_SKIP() << "no extended attributes here";
  }

  const TempDir dir_;
  const ArchiveFolders folders_ = value_of(ArchiveFolders::open(dir_.path()));
};

TEST_F(ArchiveFoldersTest, HaveTheirNameMarkAndTimeWhenTheyAreWhole) {
  const Path stage = value_of(folders_.stage());
  overwrite(stage / "file", "content");
  EXPECT_FALSE(value_of(folders_.mark_at("monday")));

  ASSERT_TRUE(ok(folders_.finish("monday", "a1", 1'000'000'000)));

  const auto mark = value_of(folders_.mark_at("monday"));
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->id, "a1");
  EXPECT_EQ(mark->snapshot, "");
  EXPECT_EQ(content_of(folders_.path_of("monday") / "file"), "content");
  struct stat status {};
  ASSERT_EQ(::stat(folders_.path_of("monday").c_str(), &status), 0);
  EXPECT_EQ(status.st_mtim.tv_sec, 1'000'000'000);
  EXPECT_FALSE(std::filesystem::exists(stage));
}

TEST_F(ArchiveFoldersTest, RememberTheirSnapshot) {
  value_of(folders_.stage());
  ASSERT_TRUE(ok(folders_.finish("monday", "a1", 0)));
  ASSERT_TRUE(ok(folders_.note_snapshot("monday", {.id = "a1", .snapshot = "the first"})));

  EXPECT_EQ(value_of(folders_.mark_at("monday"))->id, "a1");
  EXPECT_EQ(value_of(folders_.mark_at("monday"))->snapshot, "the first");
}

TEST_F(ArchiveFoldersTest, AreNotTakenForOthers) {
  std::filesystem::create_directory(dir_.path() / "monday");
  value_of(folders_.stage());

  EXPECT_EQ(value_of(folders_.mark_at("monday"))->id, "");
  EXPECT_TRUE(fails_with(ErrorCode::kExists, folders_.finish("monday", "a1", 0)));
}

TEST_F(ArchiveFoldersTest, BeginAgainWithoutWhatWasLeft) {
  const Path stage = value_of(folders_.stage());
  std::filesystem::create_directories(stage / "closed" / "below");
  std::filesystem::permissions(stage / "closed", std::filesystem::perms::none);

  EXPECT_TRUE(std::filesystem::is_empty(value_of(folders_.stage())));
}

TEST_F(ArchiveFoldersTest, AreOfOneImportAtATime) {
  EXPECT_TRUE(fails_with(ErrorCode::kBusy, ArchiveFolders::open(dir_.path())));
}

}  // namespace
}  // namespace dedupfs::tools
