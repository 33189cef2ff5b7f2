#include "mount/reports/retention_policy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kMonday = 1767571200;  // 2026-01-05 00:00:00 UTC
constexpr std::int64_t kNow = kMonday + 365 * kDay;

class RetentionPolicyTest : public testing::Test {
 protected:
  void SetUp() override { use_time_zone("UTC"); }

  static void use_time_zone(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  void make(std::int64_t unix_seconds, const std::string& name) {
    snapshots_.push_back({.number = next_++, .name = name, .created_unix_seconds = unix_seconds});
  }
  void make_here(std::int64_t unix_seconds, const std::string& name) {
    make(unix_seconds, name);
    snapshots_.back().is_dated_here = true;
  }
  // One each noon.
  void make_days(int count) {
    for (int day = 0; day < count; ++day) make(kMonday + day * kDay + 12 * kHour, fmt::format("d{}", day));
  }

  std::vector<SnapshotRecord> snapshots_;
  TreeNumber next_ = 1;
};

TEST_F(RetentionPolicyTest, ANameHasTheTimeAndTheSet) {
  use_time_zone("XYZ-2");  // two hours ahead
  EXPECT_EQ(snapshot_name(kMonday, /*in_utc=*/false, ""), "2026-01-05_02-00-00");
  EXPECT_EQ(snapshot_name(kMonday, /*in_utc=*/false, "nightly"), "2026-01-05_02-00-00_nightly");
  EXPECT_EQ(snapshot_name(kMonday, /*in_utc=*/true, "nightly"), "2026-01-05_00-00-00_nightly");
}

TEST_F(RetentionPolicyTest, ASetHasThoseWhoseNamesAreATimeAndTheSet) {
  for (const char* name : {"2026-01-05_02-00-00_nightly", "2026-01-06_02-00-00_hourly", "2026-01-06_02-00-00",
                           "nightly", "2026-01-07_02-00-00_nightly_db", "2026-01-07_02-00-00_db_nightly",
                           "2026-01-07_02-00-00-nightly", "2026-1-7_02-00-00_nightly",
                           "before-2026-01-08_02-00-00_nightly", "2026-01-09_02-00-00_", "2026-01-09_02-00-00_nightly"})
    make(kMonday, name);

  const auto names_in = [&](const char* set) {
    std::vector<std::string> names;
    for (const SnapshotRecord& snapshot : snapshots_of_set(set, snapshots_)) names.push_back(snapshot.name);
    return names;
  };
  EXPECT_THAT(names_in("nightly"), ElementsAre("2026-01-05_02-00-00_nightly", "2026-01-09_02-00-00_nightly"));
  EXPECT_THAT(names_in("nightly_db"), ElementsAre("2026-01-07_02-00-00_nightly_db"));
  EXPECT_THAT(names_in("night"), IsEmpty());
  EXPECT_THAT(names_in(""), IsEmpty());
}

TEST_F(RetentionPolicyTest, KeepSoManyOfTheLast) {
  make_days(4);
  EXPECT_THAT(not_kept({.last = 2}, snapshots_, kNow), ElementsAre("d0", "d1"));
  EXPECT_THAT(not_kept({.last = 9}, snapshots_, kNow), IsEmpty());
}

TEST_F(RetentionPolicyTest, KeepTheLastOfEachDay) {
  make(kMonday + 1 * kHour, "mon-1");
  make(kMonday + 23 * kHour, "mon-23");
  make(kMonday + 25 * kHour, "tue-1");
  make(kMonday + 5 * kDay, "sat");  // days without one do not count
  EXPECT_THAT(not_kept({.daily = 3}, snapshots_, kNow), ElementsAre("mon-1"));
  EXPECT_THAT(not_kept({.daily = 2}, snapshots_, kNow), ElementsAre("mon-1", "mon-23"));
}

TEST_F(RetentionPolicyTest, KeepTheLastOfEachHour) {
  make(kMonday + 60, "0:01");
  make(kMonday + 120, "0:02");
  make(kMonday + kHour, "1:00");
  make(kMonday + kDay, "tuesday 0:00");
  EXPECT_THAT(not_kept({.hourly = 3}, snapshots_, kNow), ElementsAre("0:01"));
  EXPECT_THAT(not_kept({.hourly = 1, .daily = 2}, snapshots_, kNow), ElementsAre("0:01", "0:02"));
}

TEST_F(RetentionPolicyTest, WeeksBeginOnMonday) {
  make_days(15);  // two weeks and a Monday
  EXPECT_THAT(not_kept({.last = 1, .weekly = 3}, {snapshots_.begin() + 5, snapshots_.end()}, kNow),
              ElementsAre("d5", "d7", "d8", "d9", "d10", "d11", "d12"));
}

TEST_F(RetentionPolicyTest, KeepTheLastOfEachMonth) {
  make_days(70);  // 5 January to 15 March
  const auto gone = not_kept({.monthly = 2}, snapshots_, kNow);
  EXPECT_EQ(gone.size(), 68U);
  EXPECT_THAT(gone, testing::Not(testing::Contains("d69")));
  EXPECT_THAT(gone, testing::Not(testing::Contains("d54")));  // 28 February
}

TEST_F(RetentionPolicyTest, OneRuleIsEnoughToKeepASnapshot) {
  make_days(10);
  EXPECT_THAT(not_kept({.last = 2, .daily = 1, .weekly = 2, .monthly = 1}, snapshots_, kNow),
              ElementsAre("d0", "d1", "d2", "d3", "d4", "d5", "d7"));
}

TEST_F(RetentionPolicyTest, DaysAreThoseOfTheLocalTime) {
  use_time_zone("XYZ-2");  // two hours ahead
  make(kMonday + 21 * kHour, "monday");
  make(kMonday + 23 * kHour, "tuesday-here");
  EXPECT_THAT(not_kept({.daily = 2}, snapshots_, kNow), IsEmpty());
  use_time_zone("UTC");
  EXPECT_THAT(not_kept({.daily = 2}, snapshots_, kNow), ElementsAre("monday"));
}

TEST_F(RetentionPolicyTest, AClockThatWasSetBackDoesNotMakeThemOld) {
  make(kMonday + 9 * kDay, "before");
  make(kMonday, "after");
  EXPECT_THAT(not_kept({.last = 1}, snapshots_, kMonday), ElementsAre("before"));
}

TEST_F(RetentionPolicyTest, AClockThatIsFarBehindTakesNoneForAnother) {
  make_days(3);
  make(0, "after a start without a clock");
  EXPECT_THAT(not_kept({.daily = 4}, snapshots_, 0), IsEmpty());
  EXPECT_THAT(not_kept({.daily = 2}, snapshots_, 0), IsEmpty()) << "which clock is wrong nobody can tell";
}

// By the clock of this machine.
TEST_F(RetentionPolicyTest, ADateOfAFastClockHasNoWeekOfItsOwn) {
  make_here(kMonday, "1");
  make_here(kMonday + 7 * kDay, "2");
  make_here(kMonday + 14 * kDay, "3");
  make_here(kMonday + 17 * 365 * kDay, "fast");
  const std::int64_t now = kMonday + 21 * kDay;
  EXPECT_THAT(not_kept({.weekly = 3}, snapshots_, now), IsEmpty()) << "it may be the clock of now that is slow";
  make_here(now, "4");
  EXPECT_THAT(not_kept({.weekly = 4}, snapshots_, now), ElementsAre("3")) << "of its week, the one made last";
  EXPECT_THAT(not_kept({.weekly = 3}, snapshots_, now), ElementsAre("1", "3"));
}

TEST_F(RetentionPolicyTest, NorHasOneOfASlowClock) {
  make_here(kMonday, "1");
  make_here(kMonday + 7 * kDay, "2");
  make_here(kDay, "with an empty battery");
  make_here(kMonday + 14 * kDay, "3");
  EXPECT_THAT(not_kept({.weekly = 3}, snapshots_, kNow), ElementsAre("2")) << "the one made later is of the same week";
  EXPECT_THAT(not_kept({.last = 2}, snapshots_, kNow), ElementsAre("1", "2"));
}

// One is wrong, not all that follow.
TEST_F(RetentionPolicyTest, ADateThatWasYetToComeDoesNotSwallowTheDaysUntilThen) {
  for (int day = 1; day <= 10; ++day) make_here(kMonday + day * kDay, fmt::format("d{}", day));
  make_here(kMonday + 15 * kDay, "fast");
  for (int day = 11; day <= 16; ++day) make_here(kMonday + day * kDay, fmt::format("d{}", day));
  EXPECT_THAT(not_kept({.daily = 14}, snapshots_, kMonday + 16 * kDay), ElementsAre("d1", "d2", "d10"));
}

TEST_F(RetentionPolicyTest, AClockThatIsAWeekBehindDeletesNothingOfThatWeek) {
  for (int day = 1; day <= 14; ++day) make_here(kMonday + day * kDay, fmt::format("d{}", day));
  make_here(kMonday + 7 * kDay, "now");
  EXPECT_THAT(not_kept({.daily = 7}, snapshots_, kMonday + 7 * kDay), IsEmpty());
}

TEST_F(RetentionPolicyTest, OldDatesOfCopiesAreTheirOwn) {
  make_here(kMonday + 70 * kDay, "own");
  make(kMonday, "imported");
  make_here(kMonday + 77 * kDay, "own too");
  EXPECT_THAT(not_kept({.weekly = 3}, snapshots_, kNow), IsEmpty());
  EXPECT_THAT(not_kept({.weekly = 2}, snapshots_, kNow), ElementsAre("imported"));
}

// Copies of what was taken before come later.
TEST_F(RetentionPolicyTest, TheDateCountsNotTheOrderInWhichTheyWereMade) {
  make(kMonday + 20 * kDay, "own");
  make_days(3);
  EXPECT_THAT(not_kept({.last = 2}, snapshots_, kNow), ElementsAre("d0", "d1"));
  EXPECT_THAT(not_kept({.daily = 2}, snapshots_, kNow), ElementsAre("d0", "d1"));
  EXPECT_THAT(not_kept({.daily = 4}, snapshots_, kNow), IsEmpty());
}

TEST_F(RetentionPolicyTest, ACopyDoesNotMakeOneOlderWhoseDateIsYetToCome) {
  make(kMonday + 20 * kDay, "own");
  make(kMonday - 900 * kDay, "a copy of long ago");
  make(kNow + 5 * kDay, "made before the clock was set back");
  EXPECT_THAT(not_kept({.last = 1}, snapshots_, kNow), ElementsAre("a copy of long ago", "own"));
}

TEST_F(RetentionPolicyTest, OfOneSecondTheOneMadeLastIsTheNewest) {
  make(kMonday, "first");
  make(kMonday, "second");
  EXPECT_THAT(not_kept({.last = 1}, snapshots_, kMonday), ElementsAre("first"));
}

}  // namespace
}  // namespace dedupfs
