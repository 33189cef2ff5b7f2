#include "mount/reports/metrics_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "mount/reports/statistics_report.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::Not;

nlohmann::json scrubbed_volume() {
  Statistics found;
  found.files = 3;
  found.logical_bytes = 9'000'000'000'000'000'000u;
  found.damaged_chunks = 2;
  ScrubStatus scrub;
  scrub.last = ScrubFindings{};
  scrub.last->ended_unix_seconds = 1700000000;
  scrub.last->complete = true;
  Superblock superblock;
  superblock.chunker = "fixed:size=4k";
  return statistics_json(found, superblock, scrub, ReclaimStatus{}, true);
}

TEST(MetricsReport, NamesTheVolumeAndItsMountpoint) {
  const std::string text = metrics_text(scrubbed_volume(), {.volume = "/v", .mountpoint = "/m"});

  EXPECT_THAT(text, HasSubstr("\ndedupfs_files{volume=\"/v\",mountpoint=\"/m\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_logical_bytes{volume=\"/v\",mountpoint=\"/m\"} 9000000000000000000\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_last_scrub_timestamp_seconds{volume=\"/v\",mountpoint=\"/m\"} 1700000000\n"));
  EXPECT_THAT(text, HasSubstr("chunker=\"fixed:size=4k\""));
}

TEST(MetricsReport, PathsAreEscaped) {
  const std::string text = metrics_text(scrubbed_volume(), {.volume = "/a\"b\\c\nd", .mountpoint = ""});

  EXPECT_THAT(text, HasSubstr(R"(dedupfs_files{volume="/a\"b\\c\nd",mountpoint=""} 3)"));
}

TEST(MetricsReport, WhatIsNotKnownIsLeftOut) {
  const auto never_scrubbed = statistics_json({}, Superblock(), {}, std::nullopt, false);

  const std::string text = metrics_text(never_scrubbed, {.volume = "/v", .mountpoint = ""});

  for (const char* name : {"last_scrub", "last_snapshot", "read_only", "available"})
    EXPECT_THAT(text, Not(HasSubstr(name)));
  EXPECT_THAT(text, HasSubstr("dedupfs_mounted{volume=\"/v\",mountpoint=\"\"} 0\n"));
}

TEST(MetricsReport, TheMountAddsWhetherItTakesData) {
  const std::string text =
      metrics_text(scrubbed_volume(), {.volume = "/v", .mountpoint = "/m", .read_only = true, .available_bytes = 1234});

  EXPECT_THAT(text, HasSubstr("dedupfs_read_only{volume=\"/v\",mountpoint=\"/m\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("dedupfs_available_bytes{volume=\"/v\",mountpoint=\"/m\"} 1234\n"));
}

// What promtool asks for as well, where it is there: tests/integration/stat_test.sh.
TEST(MetricsReport, EachLineIsOfTheFormatAndEachNameComesOnce) {
  std::istringstream lines(metrics_text(scrubbed_volume(), {.volume = "/v", .mountpoint = "/m", .read_only = false}));
  const std::regex comment("# (HELP|TYPE) dedupfs_[a-z_]+ .+");
  const std::regex sample(R"((dedupfs_[a-z_]+)\{volume="/v",mountpoint="/m".*\} [0-9.e+]+)");
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, comment)) continue;
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
    EXPECT_TRUE(names.insert(match[1]).second) << line;
  }
  EXPECT_GT(names.size(), 25u);
}

}  // namespace
}  // namespace dedupfs
