#include "mount/reports/history_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mount/reports/sample_history.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

History with_a_bare_one() {
  History history = growing_history(3);
  history[1].counts.reset();
  history[1].restore.reset();
  return history;
}

TEST(HistoryReport, JsonIsReadBack) {
  const History history = with_a_bare_one();

  const nlohmann::json json = history_json(history);

  EXPECT_EQ(history_of(json), history);
  EXPECT_EQ(json[0].at("logical_bytes"), 4 << 20);
  EXPECT_TRUE(json[1].at("logical_bytes").is_null());
  EXPECT_TRUE(json[1].at("ssd_bytes_per_second").is_null());
}

TEST(HistoryReport, JsonOfAnotherFormIsRefused) {
  EXPECT_THROW((void)history_of(nlohmann::json::parse(R"([{"taken_unix_seconds": "now"}])")),
               nlohmann::json::exception);
  EXPECT_THROW((void)history_of(nlohmann::json::parse(R"([7])")), nlohmann::json::exception);
}

TEST(HistoryReport, WhatAnotherUsersDaemonSaysIsPutInOrder) {
  const History history = growing_history(3);
  nlohmann::json json = history_json({history[2], history[0], history[1]});
  EXPECT_EQ(history_of(json), history);

  json[0]["taken_unix_seconds"] = UINT64_MAX;
  EXPECT_THAT(history_of(json), SizeIs(2));
  for (const nlohmann::json& bad : {nlohmann::json(-1), nlohmann::json(1e300), nlohmann::json(nullptr)}) {
    json[1]["taken_unix_seconds"] = bad;
    EXPECT_THROW((void)history_of(json), nlohmann::json::exception);
  }
}

TEST(HistoryReport, CsvHasALineForEachSampleAndNothingForWhatIsNotThere) {
  const std::string csv = history_csv(with_a_bare_one());

  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "taken_unix_seconds,disk_bytes,files,logical_bytes,unique_bytes,after_delta_bytes,stored_bytes,kept_bytes,"
            "garbage_bytes,hard_disk_bytes_per_second,ssd_bytes_per_second");
  EXPECT_THAT(csv,
              HasSubstr("\n1728000000,1048576,1,4194304,3145728,2097152,524288,262144,131072,120000000,480000000\n"));
  EXPECT_THAT(csv, HasSubstr("\n1728086400,2097152,,,,,,,,,\n"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 4);
}

TEST(HistoryReport, TheScreenIsATableAndTheGrowth) {
  const std::string screen = history_screen(with_a_bare_one());

  EXPECT_THAT(screen, HasSubstr("After delta"));
  EXPECT_THAT(screen, HasSubstr("12.00 MiB"));
  EXPECT_THAT(screen, HasSubstr("120.0\n"));
  EXPECT_THAT(screen, HasSubstr("Grows by 1.00 MiB a day"));
  EXPECT_THAT(history_screen(growing_history(1)), Not(HasSubstr("Grows")));
  EXPECT_THAT(history_screen({}), HasSubstr("no sample yet"));
}

TEST(HistoryReport, AThinnedOneBeginsAndEndsAsTheWhole) {
  const History history = growing_history(1000);

  const History some = thinned(history, 150);

  EXPECT_THAT(some, SizeIs(150));
  EXPECT_EQ(some.front(), history.front());
  EXPECT_EQ(some.back(), history.back());
  EXPECT_EQ(thinned(some, 150), some);
}

}  // namespace
}  // namespace dedupfs
