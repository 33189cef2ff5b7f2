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

Holds held() {
  return {{3, {.until_released = false, .until_unix_seconds = 1770000000, .seconds_left = 5 * 86400}}};
}

TEST(SnapshotReport, JsonIsReadBackAsItWas) {
  const auto json = snapshots_json(two_snapshots(), held());

  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0].at("name"), "monday");
  const auto read = snapshots_of(json);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].number, 3u);
  EXPECT_EQ(read[1].name, "tuesday");
  EXPECT_EQ(read[1].created_unix_seconds, 1767657600);
  EXPECT_EQ(read[1].inodes, 1234u);
  EXPECT_EQ(json[0].at("hold"), nullptr);
  EXPECT_EQ(holds_of(json), held());
}

TEST(SnapshotReport, JsonOfAnotherFormIsRefused) {
  EXPECT_THROW((void)snapshots_of({{{"name", "monday"}}}), nlohmann::json::exception);
  EXPECT_THROW((void)snapshots_of({{{"name", 1}, {"number", 1}, {"created_unix_seconds", 0}, {"inodes", 1}}}),
               nlohmann::json::exception);
}

TEST(SnapshotReport, TheScreenHasALineForEach) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();

  const auto none = nlohmann::json::object();

  EXPECT_EQ(snapshots_screen(two_snapshots(), {}, none),
            "2026-01-05 00:00:00             5 inodes  monday\n"
            "2026-01-06 00:00:00          1234 inodes  tuesday\n");
  EXPECT_EQ(snapshots_screen({}, {}, none), "");
  EXPECT_EQ(snapshots_screen({two_snapshots()[1]}, {}, {{"3", {{"used_bytes", 3 << 20}, {"own_bytes", 1024}}}}),
            "2026-01-06 00:00:00          1234 inodes     3.00 MiB used     1.00 KiB own  tuesday\n");
  EXPECT_EQ(snapshots_screen({two_snapshots()[1]}, held(), none),
            "2026-01-06 00:00:00          1234 inodes  tuesday  (held until 2026-02-02 02:40:00, for another 5 days at "
            "least)\n");
  EXPECT_EQ(hold_text({.until_released = true}), "held until it is released");
}

TEST(SnapshotReport, SizesAreThoseOfTheSnapshotWithTheNumber) {
  const auto json = sized_snapshots_json(two_snapshots(), {}, {{"3", {{"used_bytes", 7}, {"own_bytes", 5}}}});

  EXPECT_FALSE(json.at(0).contains("used_bytes"));
  EXPECT_EQ(json.at(1).at("used_bytes"), 7);
  EXPECT_EQ(json.at(1).at("own_bytes"), 5);
}

TEST(SnapshotReport, AClonesTotalsAreCounted) {
  EXPECT_EQ(clone_json({.files = 1, .directories = 2, .others = 3, .bytes = 4}),
            (nlohmann::json{{"files", 1}, {"directories", 2}, {"others", 3}, {"bytes", 4}}));
}

}  // namespace
}  // namespace dedupfs
