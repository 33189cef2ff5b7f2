#include "fs/content/dirty_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

bool never() {
  return false;
}
void ignore() {}

TEST(DirtyBudget, CountsWhatIsTaken) {
  DirtyBudget budget(100, ignore);

  ASSERT_TRUE(budget.acquire(60, never));
  budget.force(70);
  EXPECT_EQ(budget.used_bytes(), 130u);
  budget.release(130);
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST(DirtyBudget, AShareComesBackOnce) {
  DirtyBudget budget(100, ignore);
  {
    auto share = DirtyBudget::Share::forced(budget, 30);
    DirtyBudget::Share moved = std::move(share);
    EXPECT_EQ(budget.used_bytes(), 30u);
    moved = DirtyBudget::Share::forced(budget, 90);
    EXPECT_EQ(budget.used_bytes(), 90u);
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST(DirtyBudget, RequestWaitsUntilItFits) {
  DirtyBudget budget(100, ignore);
  ASSERT_TRUE(budget.acquire(60, never));

  auto waiting = std::async(std::launch::async, [&] { return budget.acquire(50, never).has_value(); });
  EXPECT_EQ(waiting.wait_for(120ms), std::future_status::timeout);
  budget.release(10);

  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(budget.used_bytes(), 100u);
  EXPECT_EQ(budget.waits().batches, 1u) << "the first did not wait";
  EXPECT_EQ(budget.waits().bytes, 50u);
  EXPECT_GT(budget.waits().seconds, 0.1);
}

TEST(DirtyBudget, RequestOfMoreThanTheCapIsLetInAlone) {
  DirtyBudget budget(100, ignore);

  ASSERT_TRUE(budget.acquire(250, never));
  auto waiting = std::async(std::launch::async, [&] { return budget.acquire(1, never).has_value(); });
  EXPECT_EQ(waiting.wait_for(120ms), std::future_status::timeout);
  budget.release(250);

  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(budget.used_bytes(), 1u);
}

TEST(DirtyBudget, WaitEndsWhenItIsCancelled) {
  DirtyBudget budget(100, ignore);
  ASSERT_TRUE(budget.acquire(100, never));
  std::atomic<bool> cancelled = false;

  auto waiting = std::async(std::launch::async, [&] { return budget.acquire(1, [&] { return cancelled.load(); }); });
  EXPECT_EQ(waiting.wait_for(120ms), std::future_status::timeout);
  cancelled = true;

  const auto result = waiting.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(budget.used_bytes(), 100u);
}

TEST(DirtyBudget, PressureIsToldWhenMoreThanHalfIsTaken) {
  int calls = 0;
  DirtyBudget budget(100, [&] { ++calls; });

  ASSERT_TRUE(budget.acquire(50, never));
  EXPECT_EQ(calls, 0);
  ASSERT_TRUE(budget.acquire(1, never));
  EXPECT_EQ(calls, 1);
}

TEST(DirtyBudget, PressureMayReleaseWhatAWriterWaitsFor) {
  DirtyBudget* flushed = nullptr;
  DirtyBudget budget(100, [&] { flushed->release(flushed->used_bytes()); });
  flushed = &budget;
  budget.force(100);

  EXPECT_TRUE(budget.acquire(50, never));
  EXPECT_EQ(budget.used_bytes(), 50u);
}

TEST(DirtyBudget, ManyThreadsStayBelowTheCap) {
  constexpr std::uint64_t kCap = 1000;
  DirtyBudget budget(kCap, ignore);
  std::atomic<bool> exceeded = false;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 2000; ++i) {
        const std::uint64_t bytes = 1 + random() % 600;
        ASSERT_TRUE(budget.acquire(bytes, never));
        if (budget.used_bytes() > kCap) exceeded = true;
        budget.release(bytes);
      }
    });
  }
  for (auto& thread : threads) thread.join();

  EXPECT_FALSE(exceeded);
  EXPECT_EQ(budget.used_bytes(), 0u);
}

}  // namespace
}  // namespace dedupfs
