#include "base/task_group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <new>
#include <thread>
#include <vector>

namespace dedupfs {
namespace {

constexpr std::uint64_t kManyBytes = 1000;

Result<void> fails() {
  return Error{ErrorCode::kIo, "the task failed"};
}

TEST(TaskGroup, RunsTasksSideBySide) {
  std::promise<void> first;
  std::promise<void> second;
  TaskGroup group(2, kManyBytes, "test");

  ASSERT_TRUE(group.submit(1, [&]() -> Result<void> {
    first.set_value();
    second.get_future().wait();
    return {};
  }));
  ASSERT_TRUE(group.submit(1, [&]() -> Result<void> {
    first.get_future().wait();
    second.set_value();
    return {};
  }));

  EXPECT_TRUE(group.finish());  // it would wait for ever if one thread ran both
}

TEST(TaskGroup, RunsASingleTaskOnTheThreadOfTheCaller) {
  std::vector<std::thread::id> ran_on;
  TaskGroup group(1, kManyBytes, "test");

  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(group.submit(1, [&]() -> Result<void> {
      ran_on.push_back(std::this_thread::get_id());
      return {};
    }));

  ASSERT_TRUE(group.finish());
  EXPECT_EQ(ran_on, std::vector(3, std::this_thread::get_id()));
}

// Returns how many tasks of so many bytes were under way at the same time.
int most_at_once(std::size_t tasks, std::uint64_t most_bytes, std::uint64_t bytes) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  TaskGroup group(tasks, most_bytes, "test");
  for (int i = 0; i < 200; ++i) {
    const auto submitted = group.submit(bytes, [&]() -> Result<void> {
      const int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
      std::this_thread::yield();
      --running;
      return {};
    });
    EXPECT_TRUE(submitted);
  }
  EXPECT_TRUE(group.finish());
  return most;
}

TEST(TaskGroup, BoundsHowManyTasksAreUnderWay) {
  EXPECT_LE(most_at_once(3, kManyBytes, 1), 3);
}

TEST(TaskGroup, BoundsTheBytesOfTheTasksThatAreUnderWay) {
  EXPECT_LE(most_at_once(8, 100, 50), 2);
}

TEST(TaskGroup, RunsATaskThatIsLargerThanTheBoundAlone) {
  EXPECT_EQ(most_at_once(8, 100, 101), 1);
}

TEST(TaskGroup, WaitsForRoomBeforeItsMemoryIsTaken) {
  std::promise<void> may_end;
  std::atomic<bool> has_ended = false;
  TaskGroup group(2, 100, "test");
  ASSERT_TRUE(group.submit(60, [&]() -> Result<void> {
    may_end.get_future().wait();
    has_ended = true;
    return {};
  }));

  ASSERT_TRUE(group.await_room(40));  // there is room beside it
  EXPECT_FALSE(has_ended);
  may_end.set_value();
  ASSERT_TRUE(group.await_room(41));
  EXPECT_TRUE(has_ended);
}

class FailingTasks : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FailingTasks, EndTheWork) {
  std::atomic<int> begun_after = 0;
  TaskGroup group(GetParam(), kManyBytes, "test");
  const auto first = group.submit(1, fails);
  const auto failed = first ? group.finish() : first;

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "the task failed");
  const auto after = group.submit(1, [&]() -> Result<void> {
    ++begun_after;
    return {};
  });
  EXPECT_FALSE(after);
  EXPECT_FALSE(group.await_room(1));
  EXPECT_FALSE(group.finish());
  EXPECT_EQ(begun_after, 0);
}

TEST_P(FailingTasks, MayThrow) {
  TaskGroup group(GetParam(), kManyBytes, "test");
  const auto first = group.submit(1, []() -> Result<void> { throw std::bad_alloc(); });
  const auto failed = first ? group.finish() : first;

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kNoMemory);
}

INSTANTIATE_TEST_SUITE_P(, FailingTasks, ::testing::Values(1, 4));

TEST(TaskGroup, WaitsForItsTasksAtItsEnd) {
  std::atomic<int> ended = 0;
  {
    TaskGroup group(4, kManyBytes, "test");
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(group.submit(1, [&]() -> Result<void> {
        std::this_thread::yield();
        ++ended;
        return {};
      }));
  }
  EXPECT_EQ(ended, 20);
}

}  // namespace
}  // namespace dedupfs
