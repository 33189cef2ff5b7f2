#include "mount/reports/bottleneck.h"

#include <gtest/gtest.h>

#include "sample_live.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

// After a second of a machine with two CPUs.
std::string bottleneck_after_a_second(const SampleLive& daemon) {
  const nlohmann::json rates = live_rates(SampleLive().after(0s), daemon.after(1s), 2);
  return bottleneck_of(rates);
}

TEST(Bottleneck, IsTheStageThatWritersWaitFor) {
  SampleLive daemon;
  daemon.writes.add(1ms, 10'000'000, false);
  daemon.cut.add(10'000'000, 20ms);
  daemon.delta.add(10'000'000, 600ms);
  daemon.compress.add(10'000'000, 380ms);
  daemon.room.add(0, 400ms);

  EXPECT_EQ(
      bottleneck_after_a_second(daemon),
      "The bottleneck is deltas (finding and reading similar chunks, and encoding): 60 % of the work, and writers "
      "wait for it.");
}

TEST(Bottleneck, IsTheCpuIfNobodyWaitsButAllIsBusy) {
  SampleLive daemon;
  daemon.writes.add(1ms, 10'000'000, false);
  daemon.cut.add(10'000'000, 200ms);
  daemon.compress.add(10'000'000, 1600ms);

  EXPECT_EQ(bottleneck_after_a_second(daemon),
            "The bottleneck is the CPU: 1.8 of 2 are busy, most with compression (89 %).");
}

TEST(Bottleneck, BackgroundJobsTakeCpu) {
  SampleLive daemon;
  daemon.writes.add(1ms, 1'000'000, false);
  daemon.cut.add(1'000'000, 200ms);
  daemon.move.add(10'000'000, 1800ms);

  EXPECT_EQ(bottleneck_after_a_second(daemon),
            "The bottleneck is the CPU: 2.0 of 2 are busy, most with moving chunks in the background (90 %).");
}

TEST(Bottleneck, IsElsewhereIfTheDaemonKeepsUp) {
  SampleLive daemon;
  daemon.writes.add(1ms, 12'300'000, false);
  daemon.cut.add(12'300'000, 100ms);
  daemon.delta.add(12'300'000, 300ms);

  EXPECT_EQ(bottleneck_after_a_second(daemon),
            "dedupfs is not the bottleneck: it keeps up with the 12.3 MB/s that come, with 20 % of the CPUs.");
}

TEST(Bottleneck, WritersCanWaitForFsync) {
  SampleLive daemon;
  daemon.writes.add(1ms, 4096, false);
  for (int i = 0; i < 10; ++i) daemon.syncs.add(90ms, 0, false);

  EXPECT_EQ(bottleneck_after_a_second(daemon),
            "Writers wait for fsync: 0.9 of them at a time, until their data is durable.");
}

TEST(Bottleneck, WithoutWritersThereIsNone) {
  SampleLive reading;
  reading.reads.add(1ms, 5'000'000, false);
  SampleLive settling;
  settling.move.add(1'000'000, 500ms);

  EXPECT_EQ(bottleneck_after_a_second({}), "Nobody uses the mount.");
  EXPECT_EQ(bottleneck_after_a_second(reading), "Nothing is written, 5.0 MB/s are read.");
  EXPECT_EQ(bottleneck_after_a_second(settling), "Nobody uses the mount; a background job moves chunks.");
}

}  // namespace
}  // namespace dedupfs
