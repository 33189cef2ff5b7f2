#include "store/ingest/far_budget.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

using std::chrono::minutes;
constexpr std::uint64_t kSource = FarBudget::kSourceBytes;

TEST(FarBudgetTest, NothingIsTakenWithoutABudget) {
  EXPECT_FALSE(FarBudget(0).take());
  EXPECT_FALSE(FarBudget(kSource - 1).take()) << "less than one source";
}

TEST(FarBudgetTest, AnHourHasItsBudgetAndTheNextOneHasItAgain) {
  const auto now = FarBudget::Clock::now();
  FarBudget budget(2 * kSource);

  EXPECT_TRUE(budget.take(now));
  EXPECT_TRUE(budget.take(now + minutes(30)));
  EXPECT_FALSE(budget.take(now + minutes(59)));
  EXPECT_TRUE(budget.take(now + minutes(60)));
}

TEST(FarBudgetTest, ADayWithoutUseSavesUpNothing) {
  const auto now = FarBudget::Clock::now();
  FarBudget budget(2 * kSource);
  ASSERT_TRUE(budget.take(now));
  const auto tomorrow = now + std::chrono::hours(24);

  EXPECT_TRUE(budget.take(tomorrow));
  EXPECT_TRUE(budget.take(tomorrow));
  EXPECT_FALSE(budget.take(tomorrow));
}

TEST(FarBudgetTest, AFailureEndsTheHour) {
  const auto now = FarBudget::Clock::now();
  FarBudget budget(100 * kSource);
  ASSERT_TRUE(budget.take(now));

  budget.give_up();

  EXPECT_FALSE(budget.take(now + minutes(59)));
  EXPECT_TRUE(budget.take(now + minutes(60)));
}

}  // namespace
}  // namespace dedupfs
