#include "mount/system/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "mount/system/in_time.h"
#include "support/temp_dir.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

struct WaitTest : testing::Test {
  std::vector<std::string> lines;
  Patience patience(std::chrono::milliseconds limit) {
    return {limit, [this](const std::string& line) { lines.push_back(line); }};
  }
};

TEST_F(WaitTest, AShortOneIsSilent) {
  Wait wait("the tide", patience(10s));
  int looks = 0;

  EXPECT_TRUE(wait.until([&] { return ++looks == 3; }));

  EXPECT_EQ(looks, 3);
  EXPECT_TRUE(lines.empty());
}

TEST_F(WaitTest, ALongOneSaysWhatForAndWhyAndEnds) {
  Wait wait("the tide", patience(2500ms));
  wait.explain([] { return std::string("the moon is late"); });

  const auto came = wait.until([] { return false; });

  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("waiting for the tide"), HasSubstr("the moon is late")));
  ASSERT_FALSE(came);
  EXPECT_EQ(came.error().code(), ErrorCode::kInterrupted);
  EXPECT_THAT(came.error().message(), AllOf(HasSubstr("the tide"), HasSubstr("the moon is late")));
}

TEST_F(WaitTest, ItsLimitCountsAnewWithProgress) {
  Wait wait("the tide", patience(300ms));
  int looks = 0;

  const auto came = wait.until([&] {
    if (++looks % 5 == 0) wait.note_progress("a foot higher");
    return looks == 50;  // after a second at least
  });

  EXPECT_TRUE(came);
  const auto came_later = wait.until([] { return false; });
  ASSERT_FALSE(came_later);
  EXPECT_THAT(came_later.error().message(), HasSubstr("a foot higher"));
}

TEST_F(WaitTest, WhatIsSaidWhileThereIsProgressNamesIt) {
  Wait wait("the tide", patience(2300ms));
  wait.note_progress("a foot higher");

  EXPECT_FALSE(wait.until([] { return false; }));

  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("waiting for the tide"), HasSubstr("a foot higher")));
}

TEST_F(WaitTest, ACallThatIsHeldUpIsLeftToItself) {
  const auto done = do_in_time("the tide", patience(100ms), []() -> Result<void> {
    ::sleep(3);
    return {};
  });

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::kInterrupted);
}

TEST_F(WaitTest, WhatACallReturnsInTimeComesBack) {
  EXPECT_TRUE(do_in_time("it", patience(10s), [] { return Result<void>(); }));

  const auto failed = do_in_time("it", patience(10s), [] { return Result<void>(Error{ErrorCode::kNoSpace, "full"}); });

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(failed.error().message(), "full");
}

TEST_F(WaitTest, SoDoesALongAnswer) {
  const std::string answer(1 << 20, '\0');

  const auto answered = ask_in_time("it", patience(10s), [&] { return Result<std::string>(answer); });

  ASSERT_TRUE(answered);
  EXPECT_EQ(*answered, answer);
}

TEST(StatInTime, TellsWhatStatTells) {
  const TempDir directory;
  std::filesystem::create_directory(directory.path() / "folder");
  std::filesystem::create_symlink("folder", directory.path() / "link");

  const auto followed = stat_in_time(directory.path() / "link");
  const auto link = lstat_in_time(directory.path() / "link");
  const auto nothing = stat_in_time(directory.path() / "none");

  ASSERT_TRUE(followed);
  EXPECT_TRUE(S_ISDIR(followed->st_mode));
  ASSERT_TRUE(link);
  EXPECT_TRUE(S_ISLNK(link->st_mode));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(nothing.error().message(), HasSubstr("none"));
  const auto canonical = canonical_in_time(directory.path() / "link" / "..");
  ASSERT_TRUE(canonical);
  EXPECT_EQ(*canonical, std::filesystem::canonical(directory.path()));
}

}  // namespace
}  // namespace dedupfs
