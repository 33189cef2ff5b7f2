#include "mount/reports/performance_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

TEST(PerformanceReport, HasAnObjectForEachName) {
  RequestMeter requests;
  requests.add(2ms, 4096, true);
  WorkMeter work;
  work.add(100, 3s);
  CacheMeter cache;
  cache.note(true);
  MeterReadings readings{.requests = {{"read", requests.read()}},
                         .stages = {{"cut", work.read()}},
                         .waits = {{"region_writer", work.read()}},
                         .caches = {{"inodes", cache.read()}},
                         .queues = {{"prefetches", 7}}};

  const nlohmann::json json = performance_json(readings, 90s);

  EXPECT_EQ(json.at("mounted_seconds"), 90.0);
  const nlohmann::json& read = json.at("operations").at(0);
  EXPECT_EQ(read.at("name"), "read");
  EXPECT_EQ(read.at("count"), 1);
  EXPECT_EQ(read.at("errors"), 1);
  EXPECT_EQ(read.at("bytes"), 4096);
  EXPECT_EQ(read.at("seconds"), 0.002);
  EXPECT_EQ(read.at("buckets").size(), json.at("bucket_seconds").size() + 1);
  EXPECT_EQ(json.at("stages").at(0),
            (nlohmann::json{{"name", "cut"}, {"batches", 1}, {"bytes", 100}, {"seconds", 3.0}}));
  EXPECT_EQ(json.at("waits").at(0).at("seconds"), 3.0);
  EXPECT_EQ(json.at("caches").at(0), (nlohmann::json{{"name", "inodes"}, {"hits", 1}, {"misses", 0}}));
  EXPECT_EQ(json.at("queues").at(0), (nlohmann::json{{"name", "prefetches"}, {"waiting", 7}}));
}

}  // namespace
}  // namespace dedupfs
