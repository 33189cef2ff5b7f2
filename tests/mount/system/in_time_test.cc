#include "mount/system/in_time.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace dedupfs {
namespace {

TEST(InTime, ReturnsTheAnswerOfTheOtherProcess) {
  const std::string text(100'000, 'x');  // more than a pipe holds
  const auto answer = ask_in_time("an answer", {}, [&]() -> Result<std::string> { return text; });

  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, text);
}

TEST(InTime, ReturnsTheErrorOfTheOtherProcess) {
  const auto done = do_in_time("an answer", {}, []() -> Result<void> { return Error{ErrorCode::kBusy, "in use"}; });

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kBusy);
  EXPECT_EQ(done.error().message(), "in use");
}

TEST(InTime, GivesUpAtTheTimeLimit) {
  const auto begin = std::chrono::steady_clock::now();
  const auto done = do_in_time("nothing", {.limit = std::chrono::milliseconds(50)}, []() -> Result<void> {
    for (;;) ::pause();  // as a filesystem whose daemon does not answer
  });

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(InTime, SaysThatTheOtherProcessDied) {
  const auto done = do_in_time("an answer", {}, []() -> Result<void> {
    ::raise(SIGKILL);
    return {};
  });

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kIo);
}

TEST(InTime, TellsOfTheDiskThatAPathIsOn) {
  struct statvfs expected {};
  ASSERT_EQ(::statvfs("/", &expected), 0);
  const auto status = statvfs_in_time("/", {});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->f_fsid, expected.f_fsid);
  EXPECT_EQ(status->f_blocks, expected.f_blocks);
  EXPECT_FALSE(statvfs_in_time("/nothing/here", {}));
}

TEST(InTime, FollowsSymbolicLinksOrLooksAtThem) {
  const TempDir folder;
  std::ofstream(folder.path() / "file") << "12345";
  std::filesystem::create_symlink("file", folder.path() / "link");

  const auto canonical = canonical_in_time(folder.path() / "." / "link");
  const auto followed = stat_in_time(folder.path() / "link");
  const auto itself = lstat_in_time(folder.path() / "link");
  const auto missing = stat_in_time(folder.path() / "missing");

  ASSERT_TRUE(canonical && followed && itself);
  EXPECT_EQ(canonical->filename(), "file");
  EXPECT_EQ(followed->st_size, 5);
  EXPECT_TRUE(S_ISLNK(itself->st_mode));
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace dedupfs
