#include "fs/transactions/data_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

#include "support/units.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

struct DataLimitTest : testing::Test {
  // Somebody who keeps a limit, and does what a test says.
  std::atomic<std::uint64_t> room = 10 * kMiB;
  std::atomic<bool> is_making_room = true;
  std::atomic<std::uint64_t> pending = 0;
  std::atomic<int> looks = 0, wishes = 0, waiting = 0, waits = 0, refusals = 0, settled = 0;
  std::function<void()> when_settled = [] {};

  std::unique_ptr<DataLimit> limit(std::chrono::milliseconds longest_wait = 1h, std::size_t most_waiting = 32) {
    return std::make_unique<DataLimit>(
        DataLimit::Keeper{.look =
                              [this] {
                                ++looks;
                                return DataLimit::Seen{.room_bytes = room, .is_making_room = is_making_room};
                              },
                          .want_room = [this] { ++wishes; },
                          .when_waiting =
                              [this](bool begins) {
                                waiting += begins ? 1 : -1;
                                if (begins) ++waits;
                              },
                          .refuse =
                              [this] {
                                ++refusals;
                                return Error{ErrorCode::kNoSpace, "full"};
                              },
                          .longest_wait = longest_wait,
                          .most_waiting = most_waiting},
        [this] { return pending.load(); },
        [this] {
          ++settled;
          when_settled();
        });
  }
  // Returns when so many writers wait. The end of the test program is the end of the wait.
  void await_waiting(int count) {
    while (waiting < count) std::this_thread::yield();
  }
  static bool never() { return false; }
};

TEST_F(DataLimitTest, WhatFitsIsAdmitted) {
  const auto limited = limit();
  EXPECT_TRUE(limited->admit(10 * kMiB, never));
  EXPECT_EQ(waits, 0);
  EXPECT_EQ(wishes, 0);
}

TEST_F(DataLimitTest, SmallWritesAreCountedWithoutALookForEach) {
  const auto limited = limit();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(limited->admit(4096, never));
  EXPECT_LT(looks, 100);
}

TEST_F(DataLimitTest, WhatWasAdmittedAndWhatIsInMemoryCount) {
  is_making_room = false;
  const auto limited = limit(0ms);
  ASSERT_TRUE(limited->admit(6 * kMiB, never));
  pending = 6 * kMiB;

  EXPECT_FALSE(limited->admit(6 * kMiB, never));
}

TEST_F(DataLimitTest, BeforeAWriterWaitsPendingDataIsStored) {
  const auto limited = limit();
  pending = 10 * kMiB;  // all of it duplicates
  when_settled = [this] { pending = 0; };

  EXPECT_TRUE(limited->admit(kMiB, never));

  EXPECT_EQ(settled, 1);
  EXPECT_EQ(waits, 0);
}

TEST_F(DataLimitTest, AWriterWaitsUntilThereIsRoom) {
  room = 0;
  const auto limited = limit();
  auto writing = std::async(std::launch::async, [&] { return limited->admit(kMiB, never); });
  await_waiting(1);
  EXPECT_GT(wishes, 0);

  room = kMiB;

  EXPECT_TRUE(writing.get());
  EXPECT_EQ(waiting, 0);
  EXPECT_EQ(refusals, 0);
}

TEST_F(DataLimitTest, WhileRoomIsMadeNobodyIsRefused) {
  room = 0;
  const auto limited = limit(0ms);
  auto writing = std::async(std::launch::async, [&] { return limited->admit(kMiB, never); });
  const int before = looks;
  while (looks < before + 4) std::this_thread::yield();
  EXPECT_EQ(writing.wait_for(0s), std::future_status::timeout);

  is_making_room = false;

  const auto refused = writing.get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(waiting, 0);
}

TEST_F(DataLimitTest, AWaitInVainEndsAndTheNextWriterIsRefusedAtOnce) {
  room = 0;
  is_making_room = false;
  const auto limited = limit(200ms);
  const auto begin = std::chrono::steady_clock::now();

  EXPECT_FALSE(limited->admit(kMiB, never));

  EXPECT_GE(std::chrono::steady_clock::now() - begin, 200ms);
  EXPECT_FALSE(limited->admit(kMiB, never));
  EXPECT_EQ(waits, 1) << "the second one does not wait";
  EXPECT_EQ(refusals, 2);
  room = kMiB;
  EXPECT_TRUE(limited->admit(kMiB, never)) << "it goes on by itself";
}

TEST_F(DataLimitTest, WhoIsInterruptedWaitsNoLonger) {
  room = 0;
  const auto limited = limit();
  std::atomic<bool> cancelled = false;
  auto writing = std::async(std::launch::async, [&] { return limited->admit(kMiB, [&] { return cancelled.load(); }); });
  await_waiting(1);

  cancelled = true;

  const auto ended = writing.get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(waiting, 0);
}

TEST_F(DataLimitTest, NotMoreThanSoManyWait) {
  room = 0;
  const auto limited = limit(1h, 2);
  std::vector<std::future<Result<void>>> writing;
  for (int i = 0; i < 2; ++i)
    writing.push_back(std::async(std::launch::async, [&] { return limited->admit(kMiB, never); }));
  await_waiting(2);

  EXPECT_FALSE(limited->admit(kMiB, never));

  room = 10 * kMiB;
  for (auto& each : writing) EXPECT_TRUE(each.get());
}

}  // namespace
}  // namespace dedupfs
