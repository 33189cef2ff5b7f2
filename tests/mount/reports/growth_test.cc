#include "mount/reports/growth.h"

#include <gtest/gtest.h>

#include "mount/reports/sample_history.h"

namespace dedupfs {
namespace {

constexpr double kMebibyte = 1 << 20;

TEST(Growth, IsWhatADayAdds) {
  const auto growth = growth_of(growing_history(30));

  ASSERT_TRUE(growth);
  EXPECT_DOUBLE_EQ(growth->bytes_per_day, kMebibyte);
  EXPECT_EQ(growth->days, 29);
  EXPECT_EQ(growth_text(*growth), "Grows by 1.00 MiB a day (median of 29 days).");
}

TEST(Growth, OneLargeImportDoesNotDecide) {
  History history = growing_history(31);
  history[15].disk_bytes += 1ULL << 40;

  EXPECT_DOUBLE_EQ(growth_of(history)->bytes_per_day, kMebibyte);
}

TEST(Growth, ComesFromTheLastTwoMonths) {
  History history = growing_history(200);
  for (std::size_t day = 0; day < 100; ++day) history[day].disk_bytes = 1ULL << 40;

  EXPECT_DOUBLE_EQ(growth_of(history)->bytes_per_day, kMebibyte);
  EXPECT_EQ(growth_of(history)->days, kDaysOfGrowth);
}

TEST(Growth, GoesBackFurtherWhereDaysAreRare) {
  History months;
  for (const HistorySample& day : growing_history(600))
    if (day.unix_seconds / kHistoryDay % 30 == 0) months.push_back(day);

  const auto growth = growth_of(months);

  ASSERT_TRUE(growth);
  EXPECT_DOUBLE_EQ(growth->bytes_per_day, kMebibyte);
  EXPECT_EQ(growth->days, 9 * 30) << "ten months";
}

TEST(Growth, NeedsThreeDays) {
  EXPECT_FALSE(growth_of({}));
  EXPECT_FALSE(growth_of(growing_history(2)));
  History hours = growing_history(1);
  for (int hour = 1; hour < 20; ++hour) {
    hours.push_back(hours.front());
    hours.back().unix_seconds += hour * 3600;
  }
  EXPECT_FALSE(growth_of(hours)) << "all of one day";
}

TEST(Growth, CanBeLessThanNothing) {
  History history = growing_history(10);
  for (std::size_t day = 0; day < 10; ++day) history[day].disk_bytes = (20 - day) << 20;
  const auto growth = growth_of(history);

  EXPECT_DOUBLE_EQ(growth->bytes_per_day, -kMebibyte);
  EXPECT_EQ(growth_text(*growth), "Shrinks by 1.00 MiB a day (median of 9 days).");
  EXPECT_FALSE(days_until_full(*growth, 1000));
}

TEST(Growth, TellsWhenTheDiskIsFull) {
  EXPECT_EQ(days_until_full({.bytes_per_day = 100, .days = 9}, 5000), 50);
  EXPECT_EQ(days_until_full({.bytes_per_day = 100, .days = 9}, 0), 0);
  EXPECT_FALSE(days_until_full({.bytes_per_day = 1, .days = 9}, 1 << 20)) << "more than a hundred years";
}

}  // namespace
}  // namespace dedupfs
