#include "mount/reports/live_report.h"

#include <gtest/gtest.h>

#include "sample_live.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr unsigned kCpus = 4;

TEST(LiveReport, RatesAreWhatCameInBetween) {
  SampleLive daemon;
  daemon.writes.add(1ms, 1'000'000, false);
  daemon.cut.add(1'000'000, 1ms);
  const Json before = daemon.after(10s);
  for (int i = 0; i < 4; ++i) daemon.writes.add(2ms, 500'000, i == 0);
  daemon.cut.add(2'000'000, 100ms);
  daemon.delta.add(2'000'000, 300ms);
  daemon.unstored_bytes = 77;

  const Json rates = live_rates(before, daemon.after(12s), kCpus);

  EXPECT_DOUBLE_EQ(rates.at("seconds"), 2.0);
  EXPECT_DOUBLE_EQ(rates.at("written_bytes_per_second"), 1e6);
  EXPECT_DOUBLE_EQ(rates.at("read_bytes_per_second"), 0.0);
  ASSERT_EQ(rates.at("operations").size(), 1u) << "only what came";
  const Json& write = rates.at("operations").at(0);
  EXPECT_EQ(write.at("name"), "write");
  EXPECT_DOUBLE_EQ(write.at("per_second"), 2.0);
  EXPECT_DOUBLE_EQ(write.at("errors_per_second"), 0.5);
  EXPECT_DOUBLE_EQ(write.at("mean_seconds"), 0.002);
  EXPECT_EQ(rates.at("stages").at(0).at("name"), "cut");
  EXPECT_DOUBLE_EQ(rates.at("stages").at(0).at("busy_threads"), 0.05);
  EXPECT_DOUBLE_EQ(rates.at("stages").at(0).at("share"), 0.25);
  EXPECT_DOUBLE_EQ(rates.at("stages").at(0).at("bytes_per_second"), 1e6);
  EXPECT_EQ(rates.at("queues").at(0).at("waiting"), 77) << "of the moment";
}

TEST(LiveReport, TheSlowestOfAHundredIsWithinItsBucket) {
  SampleLive daemon;
  const Json before = daemon.after(1s);
  for (int i = 0; i < 96; ++i) daemon.reads.add(50us, 1, false);
  for (int i = 0; i < 4; ++i) daemon.reads.add(20ms, 1, false);

  const Json rates = live_rates(before, daemon.after(2s), kCpus);

  EXPECT_NEAR(rates.at("operations").at(0).at("p99_seconds"), 0.025, 1e-9) << "from 10 ms to 30 ms, evenly";
}

TEST(LiveReport, TheLongestOperationsAreFirst) {
  SampleLive daemon;
  const Json before = daemon.after(1s);
  for (int i = 0; i < 100; ++i) daemon.reads.add(10us, 1, false);
  daemon.syncs.add(1s, 0, false);

  const Json rates = live_rates(before, daemon.after(2s), kCpus);

  EXPECT_EQ(rates.at("operations").at(0).at("name"), "fsync");
  EXPECT_EQ(rates.at("operations").at(1).at("name"), "read");
}

TEST(LiveReport, ACacheThatNobodyAskedHasNoRatio) {
  SampleLive daemon;
  const Json before = daemon.after(1s);
  const Json unasked = live_rates(before, daemon.after(2s), kCpus);
  daemon.inodes.note(true);
  daemon.inodes.note(true);
  daemon.inodes.note(false);
  daemon.inodes.note(false);

  const Json asked = live_rates(before, daemon.after(2s), kCpus);

  EXPECT_EQ(unasked.at("caches").at(0).at("hit_ratio"), nullptr);
  EXPECT_DOUBLE_EQ(asked.at("caches").at(0).at("hit_ratio"), 0.5);
  EXPECT_DOUBLE_EQ(asked.at("caches").at(0).at("look_ups_per_second"), 4.0);
}

// Unmounted and mounted again: its counters begin anew.
TEST(LiveReport, OfANewMountAllIsNew) {
  SampleLive old;
  for (int i = 0; i < 100; ++i) old.writes.add(1ms, 1000, false);
  SampleLive daemon;
  daemon.writes.add(1ms, 3000, false);

  const Json rates = live_rates(old.after(100s), daemon.after(3s), kCpus);

  EXPECT_DOUBLE_EQ(rates.at("seconds"), 3.0);
  EXPECT_DOUBLE_EQ(rates.at("written_bytes_per_second"), 1000.0);
}

TEST(LiveReport, OneAnswerTwiceHasNoTimeBetween) {
  const Json answer = SampleLive().after(5s);

  EXPECT_EQ(seconds_between(answer, answer), 0.0);
}

TEST(LiveReport, AnswersOfAnotherFormThrow) {
  const Json answer = SampleLive().after(5s);

  EXPECT_THROW(live_rates(answer, Json::object(), kCpus), Json::exception);
  EXPECT_THROW(live_rates(answer, {{"performance", "fast"}}, kCpus), Json::exception);
}

}  // namespace
}  // namespace dedupfs
