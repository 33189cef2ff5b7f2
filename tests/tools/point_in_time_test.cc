#include "point_in_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "fs/test_filesystem.h"

namespace dedupfs::tools {
namespace {

TEST(ParseTime, TakesDatesAndDurations) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(value_of(parse_time("2026-12-24", 0)), 1798070400);
  EXPECT_EQ(value_of(parse_time("2026-12-24 18:00", 0)), 1798135200);
  EXPECT_EQ(value_of(parse_time("2026-12-24T18:00:30", 0)), 1798135230);
  EXPECT_EQ(value_of(parse_time("@1798131600", 0)), 1798131600);
  EXPECT_EQ(value_of(parse_time("90min", 100)), 100 + 90 * 60);
  EXPECT_EQ(value_of(parse_time("12h", 100)), 100 + 12 * 3600);
  EXPECT_EQ(value_of(parse_time("30d", 100)), 100 + 30 * 86400);
  EXPECT_EQ(value_of(parse_time("8w", 100)), 100 + 8 * 7 * 86400);
}

TEST(ParsePastTime, TakesTheSameButDurationsLieInThePast) {
  EXPECT_EQ(value_of(parse_past_time("@1798131600", 0)), 1798131600);
  EXPECT_EQ(value_of(parse_past_time("30d", 100 * 86400)), 70 * 86400);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, parse_past_time("-30d", 0)));
}

TEST(ParseTime, RefusesEverythingElse) {
  for (const char* const text : {"", "tomorrow", "2026", "2026-02-31", "2026-13-01", "2026-12-24 25:00", "2026-12-24x",
                                 "d", "-5d", "1.5d", "@", "@x", "99999999999999999999d", "5 d"})
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, parse_time(text, 0))) << text;
}

}  // namespace
}  // namespace dedupfs::tools
