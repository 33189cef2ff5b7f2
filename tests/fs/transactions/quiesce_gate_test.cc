#include "fs/transactions/quiesce_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace dedupfs {
namespace {

using std::chrono::milliseconds;

TEST(QuiesceGate, ClosingWaitsForThoseInside) {
  QuiesceGate gate;
  std::atomic<bool> closed = false;
  std::thread closer;
  {
    const QuiesceGate::Pass pass(gate);
    closer = std::thread([&] {
      const QuiesceGate::Closure closure(gate);
      closed = true;
    });
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_FALSE(closed);
  }
  closer.join();
  EXPECT_TRUE(closed);
}

TEST(QuiesceGate, NobodyIsInsideWhileItIsClosed) {
  QuiesceGate gate;
  std::atomic<int> inside = 0;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> passes = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const QuiesceGate::Pass pass(gate);
        ++inside;
        ++passes;
        --inside;
      }
    });
  }

  for (int i = 0; i < 200; ++i) {
    const QuiesceGate::Closure closure(gate);
    ASSERT_EQ(inside, 0);
    const std::uint64_t before = passes;
    std::this_thread::yield();
    ASSERT_EQ(passes, before);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(QuiesceGate, ClosuresExcludeEachOther) {
  QuiesceGate gate;
  std::atomic<int> closures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        const QuiesceGate::Closure closure(gate);
        EXPECT_EQ(++closures, 1);
        --closures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace dedupfs
