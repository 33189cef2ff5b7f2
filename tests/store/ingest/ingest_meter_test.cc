#include "store/ingest/ingest_meter.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

TEST(IngestMeter, ReadsEachStageByItsName) {
  IngestMeter meter;

  meter.of(IngestStage::kCut).add(10, std::chrono::seconds(1));
  meter.of(IngestStage::kMove).add(20, std::chrono::seconds(2));

  const auto readings = meter.readings();
  EXPECT_EQ(readings.front().name, "cut");
  EXPECT_EQ(readings.front().reading.bytes, 10u);
  EXPECT_EQ(readings.back().name, "move");
  EXPECT_EQ(readings.back().reading.bytes, 20u);
}

TEST(StageTimer, AStageEndsWhereTheNextOneBegins) {
  IngestMeter meter;
  const auto began = MeterClock::now();

  StageTimer timer(meter);
  timer.end(IngestStage::kCut, 1);
  timer.end(IngestStage::kFingerprint, 1);

  const double all = meter.of(IngestStage::kCut).read().seconds + meter.of(IngestStage::kFingerprint).read().seconds;
  EXPECT_LE(all, std::chrono::duration<double>(MeterClock::now() - began).count());
}

}  // namespace
}  // namespace dedupfs
