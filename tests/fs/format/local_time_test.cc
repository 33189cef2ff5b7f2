#include "fs/format/local_time.h"

#include <gtest/gtest.h>

#include <limits>

namespace dedupfs {
namespace {

TEST(LocalTimeTest, TellsMinutesAndSeconds) {
  // Whatever the time zone: whole minutes, this year.
  EXPECT_EQ(second_text(1'000'000'000).substr(0, 8), "2001-09-");
  EXPECT_EQ(second_text(1'000'000'000).substr(16), ":40");
  EXPECT_EQ(minute_text(1'000'000'000), second_text(1'000'000'000).substr(0, 16));
}

TEST(LocalTimeTest, ATimeThatNoCalendarHasIsANumber) {
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(second_text(kLast), "9223372036854775807 s after 1970");
  EXPECT_EQ(minute_text(-kLast), "-9223372036854775807 s after 1970");
}

}  // namespace
}  // namespace dedupfs
