#include "mount/events/event_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dedupfs {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct EventWatch : testing::Test {
  std::vector<std::string> look() {
    std::vector<std::string> names;
    events = look_for_events({"/srv/volume", "/backup", health}, 5, seen);
    for (const Event& event : events) names.push_back(event.name);
    return names;
  }
  // As it is after a look at a sound mount.
  void look_first() { ASSERT_THAT(look(), IsEmpty()); }

  std::optional<json> health = json{
      {"pid", 10},
      {"was_closed", true},
      {"failed", false},
      {"damaged_chunks", 0},
      {"total_bytes", 1000},
      {"available_bytes", 500},
      {"scrub",
       {{"last",
         {{"ended_unix_seconds", 100},
          {"complete", true},
          {"damaged_chunks", 0},
          {"other_damage", 0},
          {"checked_bytes", 5}}}}},
      {"reclaim", {{"last", nullptr}}},
  };
  json seen;
  std::vector<Event> events;
};

TEST_F(EventWatch, ASoundMountIsNoEvent) {
  look_first();
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(EventWatch, DamageIsToldOnceAndAgainWhenThereIsMore) {
  (*health)["damaged_chunks"] = 2;
  ASSERT_THAT(look(), ElementsAre("damage_found"));
  EXPECT_EQ(events[0].mountpoint, "/backup");
  EXPECT_THAT(events[0].message, HasSubstr("2 damaged chunks"));
  EXPECT_THAT(look(), IsEmpty());
  (*health)["damaged_chunks"] = 1;  // one was healed
  EXPECT_THAT(look(), IsEmpty());
  (*health)["damaged_chunks"] = 2;
  ASSERT_THAT(look(), ElementsAre("damage_found"));
}

TEST_F(EventWatch, AFailedVolumeIsToldOnce) {
  (*health)["failed"] = true;
  ASSERT_THAT(look(), ElementsAre("read_only"));
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(EventWatch, ADiskAtTheLimitIsToldOnce) {
  look_first();
  (*health)["available_bytes"] = 49;
  ASSERT_THAT(look(), ElementsAre("nearly_full"));
  EXPECT_THAT(events[0].message, HasSubstr("4.9 %"));
  for (const int bytes : {51, 49, 59}) {
    (*health)["available_bytes"] = bytes;
    EXPECT_THAT(look(), IsEmpty()) << bytes;
  }
  (*health)["available_bytes"] = 100;
  EXPECT_THAT(look(), IsEmpty());
  (*health)["available_bytes"] = 49;
  ASSERT_THAT(look(), ElementsAre("nearly_full"));
}

TEST_F(EventWatch, ADeadDaemonIsToldOnceAlsoWhenItIsMountedAgain) {
  look_first();
  const auto alive = health;
  health.reset();
  ASSERT_THAT(look(), ElementsAre("daemon_died"));
  EXPECT_THAT(look(), IsEmpty());
  health = alive;
  (*health)["pid"] = 11;
  (*health)["was_closed"] = false;
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(EventWatch, ADeathThatNobodySawIsSeenByTheNextDaemon) {
  look_first();
  (*health)["pid"] = 11;
  (*health)["was_closed"] = false;
  ASSERT_THAT(look(), ElementsAre("daemon_died"));
  EXPECT_THAT(events[0].message, HasSubstr("process 10, has died"));
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(EventWatch, ARemountInGoodOrderIsNoEvent) {
  look_first();
  (*health)["pid"] = 11;
  EXPECT_THAT(look(), IsEmpty());
}

// After a power cut the last daemon did not close the volume, either.
TEST_F(EventWatch, TheFirstLookCannotTellOfADeath) {
  (*health)["was_closed"] = false;
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(EventWatch, ADeathDoesNotRepeatWhatWasToldBefore) {
  (*health)["damaged_chunks"] = 2;
  look();
  const auto alive = health;
  health.reset();
  look();
  health = alive;
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(EventWatch, EndsOfJobsAreToldIfTheMountWasSeenBefore) {
  look_first();
  (*health)["scrub"]["last"]["ended_unix_seconds"] = 200;
  (*health)["reclaim"]["last"] = {
      {"ended_unix_seconds", 150}, {"goal", "free_space"}, {"complete", true}, {"freed_bytes", 1 << 20}};
  ASSERT_THAT(look(), ElementsAre("scrub_ended", "reclaim_ended"));
  EXPECT_THAT(events[0].message, HasSubstr("no damage"));
  EXPECT_THAT(events[1].message, HasSubstr("1.00 MiB of disk freed"));
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(EventWatch, SettlingIsNoReclaimThatPeopleWaitFor) {
  look_first();
  (*health)["reclaim"]["last"] = {{"ended_unix_seconds", 150}, {"goal", "settle"}, {"complete", true}};
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(EventWatch, AnyAnswerAndAnyStateIsSurvived) {
  for (const json& strange :
       {json(), json::array(), json{{"pid", -1}, {"damaged_chunks", "x"}, {"scrub", 1}, {"total_bytes", 1.5}},
        json{{"scrub", {{"last", {{"ended_unix_seconds", json::object()}}}}}}}) {
    health = strange;
    seen = strange;
    EXPECT_THAT(look(), IsEmpty()) << strange;
  }
}

}  // namespace
}  // namespace dedupfs
