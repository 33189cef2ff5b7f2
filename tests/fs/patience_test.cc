#include "fs/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "fs/in_time.h"

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

}  // namespace
}  // namespace dedupfs
