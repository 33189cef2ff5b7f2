#include "base/meter.h"

#include <gtest/gtest.h>

#include <numeric>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

TEST(WorkMeter, AddsUpBatchesBytesAndTime) {
  WorkMeter meter;

  meter.add(100, 2ms);
  meter.add(23, 500us);

  const WorkMeter::Reading reading = meter.read();
  EXPECT_EQ(reading.batches, 2u);
  EXPECT_EQ(reading.bytes, 123u);
  EXPECT_DOUBLE_EQ(reading.seconds, 0.0025);
}

TEST(CacheMeter, TellsHitsFromMisses) {
  CacheMeter meter;

  for (const bool is_hit : {true, false, true}) meter.note(is_hit);

  EXPECT_EQ(meter.read().hits, 2u);
  EXPECT_EQ(meter.read().misses, 1u);
}

TEST(RequestMeter, AddsUpRequests) {
  RequestMeter meter;

  meter.add(1ms, 4096, false);
  meter.add(2s, 0, true);

  const RequestMeter::Reading reading = meter.read();
  EXPECT_EQ(reading.count, 2u);
  EXPECT_EQ(reading.errors, 1u);
  EXPECT_EQ(reading.bytes, 4096u);
  EXPECT_DOUBLE_EQ(reading.seconds, 2.001);
}

// As in Prometheus, a bound belongs to the bucket below it.
TEST(RequestMeter, EachRequestIsInTheBucketOfItsTime) {
  RequestMeter meter;

  for (const auto duration : std::initializer_list<MeterClock::duration>{0ns, 10us, 10001ns, 1ms, 10s, 11s, 24h})
    meter.add(duration, 0, false);

  const auto buckets = meter.read().buckets;
  EXPECT_EQ(buckets[0], 2u);
  EXPECT_EQ(buckets[1], 1u);
  EXPECT_EQ(buckets[4], 1u) << "up to " << RequestMeter::kBoundsSeconds[4];
  EXPECT_EQ(buckets[12], 1u) << "up to " << RequestMeter::kBoundsSeconds[12];
  EXPECT_EQ(buckets[13], 2u) << "the last has no end";
  EXPECT_EQ(std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0}), meter.read().count);
}

}  // namespace
}  // namespace dedupfs
