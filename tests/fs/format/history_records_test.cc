#include "fs/format/history_records.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "fs/history/hours.h"
#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

HistorySample full_sample() {
  return {
      .unix_seconds = 1'700'000'000,
      .disk_bytes = UINT64_MAX,
      .counts =
          HistorySample::Counts{
              .files = 1, .logical = 2, .unique = 300, .after_delta = 4, .stored = 5, .kept = 6, .garbage = UINT64_MAX},
      .restore = HistorySample::RestoreSpeed{.hard_disk = 7, .ssd = 8}};
}

TEST(HistoryRecords, AreReadBackUnderBothTheirKeys) {
  const HistorySample bare{.unix_seconds = 0, .disk_bytes = 9, .counts = {}, .restore = {}};
  for (const HistorySample& sample : {full_sample(), bare}) {
    const std::string stored = encode_history_sample(sample);
    EXPECT_EQ(value_of(decode_history_sample(hour_key_of(sample), stored)), sample);
    EXPECT_EQ(value_of(decode_history_sample(day_key_of(sample), stored)), sample);
  }
}

TEST(HistoryRecords, DamagedOnesAreRefused) {
  const HistorySample sample = full_sample();
  const std::string stored = encode_history_sample(sample);
  std::string flags = stored;
  flags[1] = 7;
  std::string late("\x01\x00", 2);
  late += std::string(9, '\xff') + "\x01" + '\0';  // the greatest time
  for (const std::string& damaged : {std::string(), stored + "x", stored.substr(0, stored.size() - 1),
                                     "\x02" + stored.substr(1), flags, late, std::string(1000, '\xff')})
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, decode_history_sample(hour_key_of(sample), damaged)));
}

TEST(HistoryRecords, OneUnderTheKeyOfAnotherIsRefused) {
  const HistorySample sample = full_sample();
  HistorySample later = sample;
  later.unix_seconds += kHistoryDay;
  for (const std::string& key : {hour_key_of(later), day_key_of(later), std::string("history."), std::string("x")})
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, decode_history_sample(key, encode_history_sample(sample)))) << key;
}

TEST(HistoryRecords, KeysAreUsedAgainSoThatTheyStayFew) {
  std::set<std::string> hours, days;
  HistorySample sample;
  for (std::int64_t day = 0; day < 20 * 365; ++day) {
    sample.unix_seconds = day * kHistoryDay + day % 24 * kHistoryHour;  // each hour of each day of a week, in time
    hours.insert(hour_key_of(sample));
    days.insert(day_key_of(sample));
  }
  EXPECT_EQ(hours.size(), kHourSlots);
  EXPECT_EQ(days.size(), kDaySlots);
  for (const auto* const keys : {&hours, &days})
    for (const std::string& key : *keys) {
      EXPECT_TRUE(is_history_key(key));
      EXPECT_LT(key, kEndOfHistory);
    }
}

}  // namespace
}  // namespace dedupfs
