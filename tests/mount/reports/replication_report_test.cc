#include "mount/reports/replication_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const auto kCaptured = std::chrono::system_clock::from_time_t(1700000000);

BackgroundShipper::Status shipped() {
  BackgroundShipper::Status status;
  status.where.address = "s3://bucket/prefix";
  status.epoch = 1;
  status.sequence = 7;
  status.captured = kCaptured;
  status.shipped = Shipper::Shipped{.sequence = 7, .objects = 3, .bytes = 1000, .head_bytes = 200};
  return status;
}

TEST(ReplicationReport, SaysHowOldTheStateIsThatTheBucketHas) {
  const nlohmann::json json = replication_json(shipped(), kCaptured + 42s);

  EXPECT_EQ(json.at("captured"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(json.at("lag_seconds"), 42);
  EXPECT_EQ(json.at("role"), "writer");
  EXPECT_EQ(json.at("last").at("objects"), 3);
  EXPECT_EQ(replication_screen(json), "Remote: s3://bucket/prefix has all of 42 seconds ago\n");
}

TEST(ReplicationReport, AClockThatWasSetBackGivesNoNegativeTime) {
  EXPECT_EQ(replication_json(shipped(), kCaptured - 1h).at("lag_seconds"), 0);
}

TEST(ReplicationReport, SaysWhatIsLackingAndWhy) {
  BackgroundShipper::Status status = shipped();
  status.lacking_bytes = 5 << 20;
  status.evicted = {.containers = 12, .cached_bytes = 1 << 20, .fetched_bytes = 5 << 20, .fetches = 5};
  status.failure = "the store does not answer";

  const std::string screen = replication_screen(replication_json(status, kCaptured));

  EXPECT_THAT(screen, HasSubstr("lacks 5.00 MiB"));
  EXPECT_THAT(screen, HasSubstr("12 containers are only there"));
  EXPECT_THAT(screen, HasSubstr("the last try failed: the store does not answer"));
}

TEST(ReplicationReport, SaysWhoWaitsForTheBucket) {
  BackgroundShipper::Status status = shipped();
  EXPECT_EQ(replication_json(status, kCaptured).at("most_lacking_bytes"), nullptr);
  status.lacking_bytes = 5 << 20;
  status.most_lacking_bytes = 16 << 20;
  EXPECT_THAT(replication_screen(replication_json(status, kCaptured)),
              AllOf(HasSubstr("lacks 5.00 MiB of content (16.00 MiB at most)"), Not(HasSubstr("wait"))));
  status.waiting_writers = 2;
  EXPECT_THAT(replication_screen(replication_json(status, kCaptured)), HasSubstr("2 writers wait until more is there"));
  status.waiting_writers = 0;
  status.are_writers_refused = true;

  const nlohmann::json json = replication_json(status, kCaptured);

  EXPECT_EQ(json.at("most_lacking_bytes"), 16 << 20);
  EXPECT_EQ(json.at("waiting_writers"), 0);
  EXPECT_EQ(json.at("writers_refused"), true);
  EXPECT_THAT(replication_screen(json), HasSubstr("there is no room for new data until more is there"));
}

TEST(ReplicationReport, ANewMountHasShippedNothing) {
  BackgroundShipper::Status status;
  status.where.address = "s3://bucket";
  status.is_shipping = true;

  const nlohmann::json json = replication_json(status, kCaptured);

  EXPECT_EQ(json.at("lag_seconds"), nullptr);
  EXPECT_EQ(json.at("captured"), nullptr);
  EXPECT_EQ(json.at("last"), nullptr);
  EXPECT_EQ(replication_screen(json), "Remote: s3://bucket got nothing in this mount yet; shipping now\n");
}

TEST(ReplicationReport, OneThatIsFencedSaysSo) {
  BackgroundShipper::Status status = shipped();
  status.is_fenced = true;

  const nlohmann::json json = replication_json(status, kCaptured);

  EXPECT_EQ(json.at("role"), "fenced");
  EXPECT_THAT(replication_screen(json), HasSubstr("has another writer"));
}

TEST(ReplicationReport, ACopySaysThatItShipsNothing) {
  BackgroundShipper::Status status = shipped();
  status.is_copy = true;
  const nlohmann::json json = replication_json(status, kCaptured);
  EXPECT_EQ(json.at("role"), "copy");
  EXPECT_THAT(replication_screen(json), HasSubstr("is a copy of s3://"));
}

}  // namespace
}  // namespace dedupfs
