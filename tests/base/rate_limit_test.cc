#include "base/rate_limit.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace dedupfs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RateLimitTest : public testing::Test {
 protected:
  const RateLimit::Clock::time_point begin_ = RateLimit::Clock::now();
  RateLimit limit_;
};

TEST_F(RateLimitTest, WithoutOneAJobGoesOn) {
  EXPECT_EQ(limit_.wait_until(UINT64_MAX, begin_), std::nullopt);
  limit_.set(0, 0, begin_);
  EXPECT_EQ(limit_.wait_until(UINT64_MAX, begin_), std::nullopt);
}

TEST_F(RateLimitTest, AJobWaitsUntilItsBytesAreDue) {
  limit_.set(1000, 0, begin_);

  EXPECT_EQ(limit_.wait_until(2000, begin_), begin_ + seconds(2));
  EXPECT_EQ(limit_.wait_until(2000, begin_ + milliseconds(1999)), begin_ + seconds(2));
  EXPECT_EQ(limit_.wait_until(2000, begin_ + seconds(2)), std::nullopt);
}

TEST_F(RateLimitTest, WhatWasDoneBeforeDoesNotCount) {
  limit_.set(1000, 5000, begin_);
  EXPECT_EQ(limit_.wait_until(6000, begin_), begin_ + seconds(1));
  EXPECT_EQ(limit_.wait_until(4000, begin_), std::nullopt) << "another job has done less";
}

TEST_F(RateLimitTest, APauseEarnsNothing) {
  limit_.set(1000, 0, begin_);
  limit_.begin_again(500, begin_ + seconds(60));
  EXPECT_EQ(limit_.wait_until(1500, begin_ + seconds(60)), begin_ + seconds(61));
}

TEST_F(RateLimitTest, AWaitThatNoClockCanHoldIsAskedForAgain) {
  limit_.set(1, 0, begin_);
  EXPECT_EQ(limit_.wait_until(UINT64_MAX, begin_), begin_ + std::chrono::hours(1));
}

}  // namespace
}  // namespace dedupfs
