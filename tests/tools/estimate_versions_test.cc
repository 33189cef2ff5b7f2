#include "estimate_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dedupfs::tools {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

Statistics volume(std::uint64_t logical, std::uint64_t disk) {
  Statistics statistics;
  statistics.logical_bytes = logical;
  statistics.disk_bytes = disk;
  return statistics;
}

std::vector<VersionStep> four_versions() {
  return version_steps({"a", "b", "c", "d"}, {volume(100 << 20, 50 << 20), volume(200 << 20, 60 << 20),
                                              volume(310 << 20, 64 << 20), volume(420 << 20, 66 << 20)});
}

TEST(EstimateVersions, AStepIsTheDifferenceToTheVersionBefore) {
  const auto steps = four_versions();

  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].added_bytes, 50u << 20);
  EXPECT_EQ(steps[2].path, "c");
  EXPECT_EQ(steps[2].logical_bytes, 110u << 20);
  EXPECT_EQ(steps[2].added_bytes, 4u << 20);
  EXPECT_EQ(steps[2].disk_bytes, 64u << 20);
  EXPECT_DOUBLE_EQ(steps[3].total_ratio, 420.0 / 66);
}

TEST(EstimateVersions, AVolumeThatShrinksAddsNothing) {
  EXPECT_EQ(version_steps({"a", "b"}, {volume(10, 100), volume(20, 90)})[1].added_bytes, 0u);
}

TEST(EstimateVersions, VersionsThatTheMemoryDidNotHoldHaveNoStep) {
  EXPECT_EQ(version_steps({"a", "b"}, {volume(10, 100)}).size(), 1u);
}

TEST(EstimateVersions, TheLaterHalfIsTheForecast) {
  const auto forecast = forecast_of(four_versions());

  ASSERT_TRUE(forecast);
  EXPECT_EQ(forecast->versions, 2u);
  EXPECT_EQ(forecast->mean_bytes, 3u << 20);
  EXPECT_EQ(forecast->least_bytes, 2u << 20);
  EXPECT_EQ(forecast->most_bytes, 4u << 20);
}

// Also of three: the first version is no step.
TEST(EstimateVersions, TheFirstVersionTellsNothingOfAFurtherOne) {
  EXPECT_FALSE(forecast_of(version_steps({"a"}, {volume(10, 100)})));
  EXPECT_EQ(forecast_of(version_steps({"a", "b"}, {volume(10, 100), volume(20, 107)}))->mean_bytes, 7u);
  EXPECT_EQ(
      forecast_of(version_steps({"a", "b", "c"}, {volume(10, 100), volume(20, 107), volume(30, 110)}))->mean_bytes, 3u);
}

TEST(EstimateVersions, ShowsTheCurveAndTheForecast) {
  const std::string screen = versions_screen(four_versions());

  EXPECT_THAT(screen, ContainsRegex("100.00 MiB +50.00 MiB +50.00 MiB +2.00  a\n"));
  EXPECT_THAT(screen, ContainsRegex("110.00 MiB +2.00 MiB +66.00 MiB +6.36  d\n"));
  EXPECT_THAT(screen, HasSubstr("would add about 3.00 MiB: the last 2 added 2.00 MiB to 4.00 MiB.\n"));
  EXPECT_THAT(versions_screen(version_steps({"a"}, {volume(10, 100)})), Not(HasSubstr("would")));
}

TEST(EstimateVersions, JsonHasTheSame) {
  EXPECT_EQ(versions_json(four_versions()).at(1).at("added_bytes"), 10 << 20);
  EXPECT_EQ(forecast_json(four_versions()).at("high"), 4 << 20);
  EXPECT_TRUE(forecast_json({}).is_null());
}

}  // namespace
}  // namespace dedupfs::tools
