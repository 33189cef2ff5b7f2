#include "mount/reports/metrics_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "golden_metrics.h"
#include "mount/reports/performance_report.h"
#include "mount/reports/quota_report.h"
#include "mount/reports/replication_report.h"
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

nlohmann::json remote_of_shipping_mount() {
  BackgroundShipper::Status status;
  status.lacking_bytes = 4321;
  status.most_lacking_bytes = 5000;
  status.waiting_writers = 2;
  status.are_writers_refused = true;
  status.evicted = {.containers = 12, .cached_bytes = 1 << 20, .fetched_bytes = 5 << 20, .fetches = 5};
  status.requests.of = {7, 2, 5, 1, 3};
  status.shipped_bytes = 99;
  status.captured = std::chrono::system_clock::from_time_t(1700000000);
  return replication_json(status);
}

TEST(MetricsReport, SaysWhatTheBucketLacksWhereThereIsOne) {
  nlohmann::json statistics = scrubbed_volume();
  EXPECT_THAT(metrics_text(statistics, {.volume = "/v", .mountpoint = "/m"}), Not(HasSubstr("dedupfs_remote")));
  statistics["remote"] = remote_of_shipping_mount();

  const std::string text = metrics_text(statistics, {.volume = "/v", .mountpoint = "/m"});

  const std::string labels = "{volume=\"/v\",mountpoint=\"/m\"} ";
  EXPECT_THAT(text, HasSubstr("\ndedupfs_remote_lacking_bytes" + labels + "4321\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_remote_most_lacking_bytes" + labels + "5000\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_remote_waiting_writers" + labels + "2\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_remote_writers_refused" + labels + "1\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_remote_evicted_containers" + labels + "12\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_remote_fetched_bytes_total" + labels + "5242880\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE dedupfs_remote_fetched_bytes_total counter\n"));
  EXPECT_THAT(text, HasSubstr("dedupfs_remote_requests_total{volume=\"/v\",mountpoint=\"/m\",method=\"put\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("dedupfs_remote_requests_total{volume=\"/v\",mountpoint=\"/m\",method=\"delete\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_remote_shipped_timestamp_seconds" + labels + "1700000000\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_remote_fenced" + labels + "0\n"));
}

TEST(MetricsReport, PathsAreEscaped) {
  const std::string text = metrics_text(scrubbed_volume(), {.volume = "/a\"b\\c\nd", .mountpoint = ""});

  EXPECT_THAT(text, HasSubstr(R"(dedupfs_files{volume="/a\"b\\c\nd",mountpoint=""} 3)"));
  EXPECT_THAT(metrics_text(scrubbed_volume(), {.volume = "/cass\xe9", .mountpoint = "/m\xc3\xa4"}),
              HasSubstr("dedupfs_files{volume=\"/cass\xef\xbf\xbd\",mountpoint=\"/m\xc3\xa4\"} 3"))
      << "a scraper takes no bytes that are no UTF-8";
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

TEST(MetricsReport, EachQuotaHasItsDirectoryAsALabel) {
  nlohmann::json statistics = scrubbed_volume();
  statistics["quotas"] = quotas_json({{.directory = 5, .limits = {.logical_bytes = 70}, .logical_bytes = 7, .files = 1},
                                      {.directory = 6, .limits = {.files = 9}, .logical_bytes = 0, .files = 2}},
                                     {{5, "alice"}});
  const std::string text = metrics_text(statistics, {.volume = "/v", .mountpoint = "/m"});

  const std::string alice = "{volume=\"/v\",mountpoint=\"/m\",directory=\"alice\"} ";
  const std::string other = "{volume=\"/v\",mountpoint=\"/m\",directory=\"inode 6\"} ";
  EXPECT_THAT(text, HasSubstr("# TYPE dedupfs_quota_logical_bytes gauge\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_quota_logical_bytes" + alice + "7\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_quota_logical_limit_bytes" + alice + "70\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_quota_files_limit" + other + "9\n"));
  EXPECT_THAT(text, Not(HasSubstr("dedupfs_quota_logical_limit_bytes" + other))) << "there is no such limit";
}

nlohmann::json busy_volume() {
  nlohmann::json statistics = scrubbed_volume();
  RequestMeter reads;
  reads.add(std::chrono::milliseconds(2), 4096, false);
  reads.add(std::chrono::hours(1), 0, true);
  WorkMeter work;
  work.add(512, std::chrono::milliseconds(250));
  CacheMeter cache;
  cache.note(true);
  statistics["performance"] = performance_json({.requests = {{"read", reads.read()}},
                                                .stages = {{"cut", work.read()}, {"delta", {}}},
                                                .waits = {{"region_writer", work.read()}},
                                                .caches = {{"inodes", cache.read()}},
                                                .queues = {{"unstored_bytes", 7}, {"something_new", 8}}},
                                               std::chrono::seconds(5));
  return statistics;
}

TEST(MetricsReport, OperationsAreAHistogram) {
  const std::string text = metrics_text(busy_volume(), {.volume = "/v", .mountpoint = "/m"});

  const auto bucket = [](const char* bound, int count) {
    return fmt::format(
        "\ndedupfs_operation_seconds_bucket{{volume=\"/v\",mountpoint=\"/m\",operation=\"read\",le=\"{}\"}} {}\n",
        bound, count);
  };
  EXPECT_THAT(text, HasSubstr("# TYPE dedupfs_operation_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr(bucket("1e-05", 0)));
  EXPECT_THAT(text, HasSubstr(bucket("0.001", 0)));
  EXPECT_THAT(text, HasSubstr(bucket("0.003", 1)));
  EXPECT_THAT(text, HasSubstr(bucket("10.0", 1))) << "each has those below";
  EXPECT_THAT(text, HasSubstr(bucket("+Inf", 2)));
  EXPECT_THAT(
      text,
      HasSubstr("\ndedupfs_operation_seconds_sum{volume=\"/v\",mountpoint=\"/m\",operation=\"read\"} 3600.002\n"));
  EXPECT_THAT(text,
              HasSubstr("\ndedupfs_operation_errors_total{volume=\"/v\",mountpoint=\"/m\",operation=\"read\"} 1\n"));
}

TEST(MetricsReport, StagesCachesAndQueuesHaveLabels) {
  const std::string text = metrics_text(busy_volume(), {.volume = "/v", .mountpoint = "/m"});

  for (const char* sample :
       {"dedupfs_ingest_stage_seconds_total{volume=\"/v\",mountpoint=\"/m\",stage=\"cut\"} 0.25",
        "dedupfs_ingest_stage_bytes_total{volume=\"/v\",mountpoint=\"/m\",stage=\"cut\"} 512",
        "dedupfs_ingest_stage_bytes_total{volume=\"/v\",mountpoint=\"/m\",stage=\"delta\"} 0",
        "dedupfs_ingest_wait_seconds_total{volume=\"/v\",mountpoint=\"/m\",room=\"region_writer\"} 0.25",
        "dedupfs_cache_hits_total{volume=\"/v\",mountpoint=\"/m\",cache=\"inodes\"} 1",
        "dedupfs_unstored_bytes{volume=\"/v\",mountpoint=\"/m\"} 7"})
    EXPECT_THAT(text, HasSubstr("\n" + std::string(sample) + "\n"));
  EXPECT_THAT(text, Not(HasSubstr("something_new"))) << "of a newer daemon";
}

TEST(MetricsReport, InOpenMetricsACounterHasItsSuffixInSamplesOnly) {
  const std::string text =
      metrics_text(busy_volume(), {.volume = "/v", .mountpoint = "/m"}, MetricsFormat::kOpenMetrics);

  EXPECT_THAT(text, HasSubstr("\n# TYPE dedupfs_cache_hits counter\ndedupfs_cache_hits_total{"));
  EXPECT_THAT(text, testing::EndsWith("\n# EOF\n"));
}

// What promtool asks for as well, where it is there: tests/integration/stat_test.sh.
TEST(MetricsReport, EachLineIsOfTheFormatAndEachSampleComesOnce) {
  std::istringstream lines(metrics_text(busy_volume(), {.volume = "/v", .mountpoint = "/m", .read_only = false}));
  const std::regex comment("# (HELP|TYPE) dedupfs_[a-z_]+ .+");
  const std::regex sample(R"((dedupfs_[a-z_]+\{volume="/v",mountpoint="/m".*\}) [0-9.e+]+)");
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, comment)) continue;
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
    EXPECT_TRUE(names.insert(match[1]).second) << line;
  }
  EXPECT_GT(names.size(), 25u);
}

// A volume of which all is known, so that each metric is written.
nlohmann::json volume_with_everything() {
  nlohmann::json statistics = busy_volume();
  statistics["last_snapshot_unix_seconds"] = 1700000000;
  statistics["remote"] = remote_of_shipping_mount();
  statistics["quotas"] =
      quotas_json({{.directory = 5, .limits = {.logical_bytes = 70, .stored_bytes = 60, .files = 9}}}, {});
  nlohmann::json queues = nlohmann::json::array();
  for (const char* const name : {"operations", "unstored_bytes", "chunk_batches", "region_bytes", "prefetches"})
    queues.push_back({{"name", name}, {"waiting", 1}});
  statistics["performance"]["queues"] = queues;
  return statistics;
}

// The lines "NAME TYPE HELP" of a text, sorted.
std::set<std::string> described_in(const std::string& text) {
  std::set<std::string> found;
  const std::regex pair("# HELP (\\S+) (.+)\n# TYPE (\\S+) (\\S+)\n");
  for (auto match = std::sregex_iterator(text.begin(), text.end(), pair); match != std::sregex_iterator(); ++match) {
    EXPECT_EQ((*match)[1], (*match)[3]);
    found.insert(fmt::format("{} {} {}", (*match)[1].str(), (*match)[4].str(), (*match)[2].str()));
  }
  return found;
}

// golden_metrics.h says why. A metric that is new has no line there yet: add it.
TEST(MetricsReport, NoNameTypeOrHelpOfAMetricEverChanges) {
  std::istringstream lines{std::string(kGoldenMetrics)};
  std::set<std::string> golden;
  for (std::string line; std::getline(lines, line);) golden.insert(line);

  const std::set<std::string> written = described_in(metrics_text(
      volume_with_everything(), {.volume = "/v", .mountpoint = "/m", .read_only = false, .available_bytes = 1}));

  EXPECT_EQ(written, golden);
}

}  // namespace
}  // namespace dedupfs
