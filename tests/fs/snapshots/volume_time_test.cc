#include "fs/snapshots/volume_time.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

// A boot clock that a test sets.
struct SetClock {
  std::shared_ptr<BootTime> now = std::make_shared<BootTime>(BootTime{.boot = {1}, .seconds = 1000});

  std::function<BootTime()> function() const {
    return [at = now] { return *at; };
  }
};

TEST(VolumeTime, RunsWithTheBootClock) {
  const SetClock clock;
  const VolumeTime time = value_of(VolumeTime::load(std::nullopt, clock.function()));
  EXPECT_EQ(time.seconds(), 0U);
  clock.now->seconds += 50;
  EXPECT_EQ(time.seconds(), 50U);
  clock.now->seconds = 3;  // no boot clock runs back: nothing is believed
  EXPECT_EQ(time.seconds(), 0U);
}

TEST(VolumeTime, GoesOnBetweenTwoMountsOfOneBoot) {
  const SetClock clock;
  const std::string stored = value_of(VolumeTime::load(std::nullopt, clock.function())).encoded();
  clock.now->seconds += 500;
  EXPECT_EQ(value_of(VolumeTime::load(stored, clock.function())).seconds(), 500U);
}

TEST(VolumeTime, StandsStillWhileTheMachineIsOff) {
  const SetClock clock;
  const VolumeTime time = value_of(VolumeTime::load(std::nullopt, clock.function()));
  clock.now->seconds += 10;
  const std::string stored = time.encoded();
  for (const BootTime& later : {BootTime{.boot = {2}, .seconds = 99'999'999}, BootTime{.boot = {2}, .seconds = 5},
                                BootTime{.boot = {1}, .seconds = 5}, BootTime{.boot = {}, .seconds = 99'999'999}}) {
    *clock.now = later;
    EXPECT_EQ(value_of(VolumeTime::load(stored, clock.function())).seconds(), 10U);
  }
}

TEST(VolumeTime, DoesNotCompareClocksOfUnknownBoots) {
  const SetClock clock;
  clock.now->boot = {};
  const std::string stored = value_of(VolumeTime::load(std::nullopt, clock.function())).encoded();
  clock.now->seconds += 500;
  EXPECT_EQ(value_of(VolumeTime::load(stored, clock.function())).seconds(), 0U);
}

TEST(VolumeTime, TheClockOfTheSystemRuns) {
  const BootTime first = read_boot_time();
  const BootTime second = read_boot_time();
  EXPECT_GT(first.seconds, 0U);
  EXPECT_LE(first.seconds, second.seconds);
  EXPECT_EQ(first.boot, second.boot);
}

}  // namespace
}  // namespace dedupfs
