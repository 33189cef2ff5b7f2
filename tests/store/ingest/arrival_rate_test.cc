#include "store/ingest/arrival_rate.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

constexpr auto kWindow = ArrivalRate::kWindow;
constexpr std::uint64_t kSlow = ArrivalRate::kSlowBytes;

class ArrivalRateTest : public testing::Test {
 protected:
  bool is_slow_after(std::uint64_t bytes) { return rate_.is_slow_after(bytes, now_); }

  ArrivalRate rate_;
  ArrivalRate::Clock::time_point now_ = ArrivalRate::Clock::now();
};

TEST_F(ArrivalRateTest, ABurstIsFastFromTheByteThatASlowSourceWouldNotHaveSent) {
  EXPECT_TRUE(is_slow_after(kSlow));
  EXPECT_FALSE(is_slow_after(1));
}

TEST_F(ArrivalRateTest, ASteadySlowSourceStaysSlow) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(is_slow_after(kSlow / 20)) << i;
    now_ += kWindow / 10;
  }
}

TEST_F(ArrivalRateTest, ASteadyFastSourceStaysFast) {
  for (int i = 0; i < 1000; ++i) {
    const bool is_slow = is_slow_after(kSlow / 5);
    EXPECT_TRUE(i < 10 || !is_slow) << i;
    now_ += kWindow / 10;
  }
}

TEST_F(ArrivalRateTest, AFastSourceIsForgottenAfterTwoWindowsWithoutData) {
  EXPECT_FALSE(is_slow_after(2 * kSlow));
  now_ += kWindow;
  EXPECT_FALSE(is_slow_after(1));
  now_ += 2 * kWindow;
  EXPECT_TRUE(is_slow_after(1));
}

// Whoever is made to wait sends little.
TEST_F(ArrivalRateTest, ASourceThatHadToWaitIsNotSlowForTwoWindows) {
  EXPECT_TRUE(is_slow_after(1));
  rate_.note_wait(now_);
  now_ += 2 * kWindow - std::chrono::nanoseconds(1);
  EXPECT_FALSE(is_slow_after(1));
  now_ += std::chrono::nanoseconds(1);
  EXPECT_TRUE(is_slow_after(1));
}

}  // namespace
}  // namespace dedupfs
