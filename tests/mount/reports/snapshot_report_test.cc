#include "mount/reports/snapshot_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

namespace dedupfs {
namespace {

std::vector<SnapshotRecord> two_snapshots() {
  return {{.number = 1, .name = "monday", .created_unix_seconds = 1767571200, .inodes = 5},
          {.number = 3, .name = "tuesday", .created_unix_seconds = 1767657600, .inodes = 1234}};
}

TEST(SnapshotReport, JsonIsReadBackAsItWas) {
  const auto json = snapshots_json(two_snapshots());

  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0].at("name"), "monday");
  const auto read = snapshots_of(json);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].number, 3u);
  EXPECT_EQ(read[1].name, "tuesday");
  EXPECT_EQ(read[1].created_unix_seconds, 1767657600);
  EXPECT_EQ(read[1].inodes, 1234u);
}

TEST(SnapshotReport, JsonOfAnotherFormIsRefused) {
  EXPECT_THROW((void)snapshots_of({{{"name", "monday"}}}), nlohmann::json::exception);
  EXPECT_THROW((void)snapshots_of({{{"name", 1}, {"number", 1}, {"created_unix_seconds", 0}, {"inodes", 1}}}),
               nlohmann::json::exception);
}

TEST(SnapshotReport, TheScreenHasALineForEach) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();

  EXPECT_EQ(snapshots_screen(two_snapshots()),
            "2026-01-05 00:00:00             5 inodes  monday\n"
            "2026-01-06 00:00:00          1234 inodes  tuesday\n");
  EXPECT_EQ(snapshots_screen({}), "");
}

TEST(SnapshotReport, AClonesTotalsAreCounted) {
  EXPECT_EQ(clone_json({.files = 1, .directories = 2, .others = 3, .bytes = 4}),
            (nlohmann::json{{"files", 1}, {"directories", 2}, {"others", 3}, {"bytes", 4}}));
}

}  // namespace
}  // namespace dedupfs
