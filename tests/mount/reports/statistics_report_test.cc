#include "mount/reports/statistics_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dedupfs {
namespace {

using testing::HasSubstr;

// A volume with ten unique chunks of 4 KiB.
Statistics ten_blocks() {
  Statistics found;
  found.files = 1;
  found.logical_bytes = found.unique_bytes = found.after_delta_bytes = found.stored_bytes = 40960;
  found.chunks = found.unique_chunks = 10;
  found.disk_bytes = 1000 << 20;
  return found;
}

Superblock small_blocks() {
  Superblock superblock;
  superblock.chunker = "fixed:size=4k";
  superblock.label = "name";
  superblock.delta = *parse_delta_settings(kDefaultDeltaSettings);
  return superblock;
}

TEST(StatisticsReport, JsonHoldsCountsAndSettings) {
  const nlohmann::json json = statistics_json(ten_blocks(), small_blocks(), {}, {}, true);

  EXPECT_EQ(json.at("unique_bytes"), 40960);
  EXPECT_EQ(json.at("chunker"), "fixed:size=4k");
  EXPECT_EQ(json.at("mounted"), true);
}

TEST(StatisticsReport, JsonHoldsWhenTheNewestSnapshotWasMadeIfThereIsOne) {
  Statistics found = ten_blocks();
  EXPECT_EQ(statistics_json(found, small_blocks(), {}, {}, true).at("last_snapshot_unix_seconds"), nullptr);
  found.last_snapshot_unix_seconds = 1700000000;
  EXPECT_EQ(statistics_json(found, small_blocks(), {}, {}, true).at("last_snapshot_unix_seconds"), 1700000000);
}

TEST(StatisticsReport, JsonHoldsReclaimsWhereThereCanBeAny) {
  ReclaimStatus reclaim;
  reclaim.freed_bytes = 12345;

  const nlohmann::json writable = statistics_json(ten_blocks(), small_blocks(), {}, reclaim, true);
  const nlohmann::json other = statistics_json(ten_blocks(), small_blocks(), {}, std::nullopt, false);

  EXPECT_EQ(writable.at("freed_bytes"), 12345u);
  EXPECT_EQ(writable.at("reclaim").at("running"), false);
  EXPECT_EQ(other.at("freed_bytes"), 0u);
  EXPECT_EQ(other.at("reclaim"), nullptr);
}

TEST(NfsExportLine, NamesTheUuidAndEscapesThePath) {
  const std::string uuid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

  EXPECT_EQ(nfs_export_line("/backup", uuid), "/backup *(rw,no_subtree_check,fsid=" + uuid + ")");
  EXPECT_EQ(nfs_export_line("/my \"#1\"\\\n", uuid).substr(0, 24), R"(/my\040\042\0431\042\134)");
}

TEST(FileStatisticsReport, ScreenShowsWhatTheJsonHolds) {
  nlohmann::json json = file_statistics_json({{.logical_bytes = 40960,
                                               .chunks = 1234,
                                               .shared_chunks = 567,
                                               .delta_chunks = 89,
                                               .base_chunks = 12,
                                               .containers = 3,
                                               .own_bytes = 8192,
                                               .regions_read = 4321,
                                               .hard_disk_seconds = 0.001},
                                              {}});
  json[0]["path"] = "/mnt/file";
  json[1]["path"] = "/mnt/empty";

  EXPECT_EQ(json[0].at("shared_chunks"), 567);
  EXPECT_DOUBLE_EQ(json[0].at("containers_per_gb").get<double>(), 3 * 1e9 / 40960);
  EXPECT_DOUBLE_EQ(json[0].at("hard_disk_bytes_per_second").get<double>(), 40960 / 0.001);
  EXPECT_TRUE(json[1].at("hard_disk_bytes_per_second").is_null()) << "there is nothing to read";
  const std::string screen = file_statistics_screen(json);
  for (const auto* part :
       {"/mnt/file", "40.00 KiB", "8.00 KiB", "1234", "567", "89", "12", "3", "Containers", "4321", "41.0", "73242.2"})
    EXPECT_THAT(screen, HasSubstr(part));
}

}  // namespace
}  // namespace dedupfs
