#include "bench/timed.h"

#include <gtest/gtest.h>

#include <chrono>

namespace dedupfs::bench {
namespace {

TEST(Timed, APassOfLittleWorkDoesItManyTimes) {
  std::size_t times = 0;
  Timed timed(true, [&times] { ++times; });
  ASSERT_EQ(times, 1u);  // the warm-up

  const auto begin = std::chrono::steady_clock::now();
  timed.pass();
  const std::chrono::duration<double> pass = std::chrono::steady_clock::now() - begin;

  EXPECT_GT(times, 20u);  // many thousand on a machine that has nothing else to do
  ASSERT_EQ(timed.seconds().size(), 1u);
  EXPECT_GT(timed.seconds()[0], 0);
  EXPECT_LT(timed.seconds()[0], pass.count() / 10);  // of the work once, not of the pass
}

TEST(Timed, TheMedianIsTheMiddle) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median({7}), 7);
}

}  // namespace
}  // namespace dedupfs::bench
