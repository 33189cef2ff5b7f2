#include "fs/history/history_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "fs/history/hours.h"
#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kSeriesStart = 20'000 * kHistoryDay;

class HistorySeries : public testing::Test {
 protected:
  void keep(std::int64_t unix_seconds, std::uint64_t disk_bytes) {
    HistorySample sample;
    sample.unix_seconds = unix_seconds;
    sample.disk_bytes = disk_bytes;
    put_history_sample(metadata(), sample);
  }
  std::vector<std::uint64_t> sizes(std::int64_t now) {
    std::vector<std::uint64_t> sizes;
    for (const HistorySample& sample : value_of(read_history(metadata(), now))) sizes.push_back(sample.disk_bytes);
    return sizes;
  }
  Metadata& metadata() { return fs_->volume().metadata(); }

  TestFilesystem fs_;
};

TEST_F(HistorySeries, ANewVolumeHasNone) {
  EXPECT_THAT(sizes(kSeriesStart), IsEmpty());
}

TEST_F(HistorySeries, TheLastSampleOfAnHourCounts) {
  keep(kSeriesStart, 1);
  keep(kSeriesStart + 10, 2);
  keep(kSeriesStart + kHistoryHour, 3);

  EXPECT_THAT(sizes(kSeriesStart + 2 * kHistoryHour), ElementsAre(2, 3));
}

TEST_F(HistorySeries, AnHourIsKeptForAWeekAndADayForTenYears) {
  for (std::int64_t hour = 0; hour < 30 * 24; ++hour)
    keep(kSeriesStart + hour * kHistoryHour, static_cast<std::uint64_t>(hour));
  const std::int64_t now = kSeriesStart + 30 * kHistoryDay - kHistoryHour;

  const auto there = sizes(now);

  EXPECT_EQ(there.size(), 23 + kHourSlots) << "the last hour of 23 days, and a week of hours";
  EXPECT_EQ(there[0], 23);
  EXPECT_EQ(there[1], 47);
  EXPECT_EQ(there.back(), 30 * 24 - 1);

  for (std::int64_t day = 0; day < 12 * 365; ++day) keep(kSeriesStart + day * kHistoryDay, 1);
  EXPECT_THAT(sizes(kSeriesStart + 12 * 365 * kHistoryDay), testing::SizeIs(kDaySlots));
}

TEST_F(HistorySeries, HoursOfALongTimeAgoDoNotStandBesideDays) {
  keep(kSeriesStart, 1);
  keep(kSeriesStart + kHistoryHour, 2);

  EXPECT_THAT(sizes(kSeriesStart + 100 * kHistoryDay), ElementsAre(2));
}

TEST_F(HistorySeries, SamplesOfAClockThatWasAheadAreLeftOut) {
  keep(kSeriesStart, 1);
  keep(kSeriesStart + 400 * kHistoryDay, 2);

  EXPECT_THAT(sizes(kSeriesStart + kHistoryHour), ElementsAre(1));
}

TEST_F(HistorySeries, DamagedRecordsAreLeftOut) {
  keep(kSeriesStart, 1);
  metadata().put(Family::kCounters, "history.hour.001", "junk");
  metadata().put(Family::kCounters, "history.unknown", "\x01");

  EXPECT_THAT(sizes(kSeriesStart), ElementsAre(1));
}

TEST_F(HistorySeries, SurvivesAMount) {
  keep(kSeriesStart, 1);
  fs_.reopen();

  EXPECT_THAT(sizes(kSeriesStart), ElementsAre(1));
}

}  // namespace
}  // namespace dedupfs
