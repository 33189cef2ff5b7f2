#include "fs/transactions/commit_hook.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

constexpr std::chrono::seconds kPatience{20};

TEST(CommitHook, ATaskRunsOnceAndItsResultIsTakenOnce) {
  CommitHook hook;
  int runs = 0;
  hook.want({.change = [&]() -> Result<void> {
    ++runs;
    return {};
  }});
  EXPECT_TRUE(hook.is_wanted());

  hook.run([] {});
  hook.run([] {});

  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(hook.is_wanted());
  const auto result = hook.take_result();
  ASSERT_TRUE(result);
  EXPECT_TRUE(ok(*result));
  EXPECT_FALSE(hook.take_result());
}

TEST(CommitHook, ATaskWithoutAGroupIsWithdrawn) {
  CommitHook hook;
  hook.want({.change = []() -> Result<void> { return {}; }});

  EXPECT_FALSE(hook.take_result());

  EXPECT_FALSE(hook.is_wanted());
}

// Those who ask hold the lock of the committer, which an operation that the task waits for may need.
TEST(CommitHook, WhoAsksWhetherThereIsATaskDoesNotWaitForOneThatRuns) {
  CommitHook hook;
  std::future<bool> answer;
  std::future_status asked{};
  hook.want({.change = [&]() -> Result<void> {
    answer = std::async(std::launch::async, [&] { return hook.is_wanted(); });
    asked = answer.wait_for(kPatience);
    return {};
  }});

  hook.run([] {});

  EXPECT_EQ(asked, std::future_status::ready);
  EXPECT_TRUE(answer.get());
}

}  // namespace
}  // namespace dedupfs
