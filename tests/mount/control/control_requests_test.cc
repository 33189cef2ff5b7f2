#include "mount/control/control_requests.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

using Json = nlohmann::json;

template <class T>
bool is_wrong(const Result<T>& result) {
  return !result && result.error().code() == ErrorCode::kInvalidArgument;
}

TEST(ControlRequests, ReclaimIsToldWhatToDoByName) {
  const auto action_of = [](const char* action) { return reclaim_request_of({{"action", action}})->action; };

  EXPECT_EQ(action_of("status"), ReclaimRequest::Action::kStatus);
  EXPECT_EQ(action_of("start"), ReclaimRequest::Action::kStart);
  EXPECT_EQ(action_of("pause"), ReclaimRequest::Action::kPause);
  EXPECT_EQ(action_of("resume"), ReclaimRequest::Action::kResume);
  EXPECT_EQ(action_of("stop"), ReclaimRequest::Action::kStop);
}

TEST(ControlRequests, AReclaimIsStartedWithOneOfTwoGoals) {
  const auto start = reclaim_request_of({{"action", "start"}});
  const auto settle = reclaim_request_of({{"action", "settle"}});

  EXPECT_EQ(start->goal, ReclaimGoal::kFreeSpace);
  EXPECT_EQ(settle->action, ReclaimRequest::Action::kStart);
  EXPECT_EQ(settle->goal, ReclaimGoal::kSettle);
}

TEST(ControlRequests, WhoeverShipsIsToldWhatToDoByName) {
  EXPECT_EQ(remote_request_of({{"action", "status"}})->action, RemoteRequest::Action::kStatus);
  EXPECT_EQ(remote_request_of({{"action", "push"}})->action, RemoteRequest::Action::kPush);
  EXPECT_FALSE(remote_request_of({{"action", "push"}})->grace);
  EXPECT_EQ(remote_request_of({{"action", "push"}, {"grace_hours", 3}})->grace, std::chrono::hours(3));
  EXPECT_FALSE(remote_request_of({{"action", "push"}, {"grace_hours", 1'000'000'000}}));
  const auto wrong = remote_request_of({{"action", "takeover"}});
  ASSERT_TRUE(is_wrong(wrong));
  EXPECT_EQ(wrong.error().message(), "\"takeover\" is not an action of a replication");
}

TEST(ControlRequests, UnknownActionIsNamedInTheError) {
  const auto reclaim = reclaim_request_of({{"action", "Start"}});
  const auto scrub = scrub_request_of({{"action", "pause"}});

  ASSERT_TRUE(is_wrong(reclaim));
  EXPECT_EQ(reclaim.error().message(), "\"Start\" is not an action of a reclaim");
  ASSERT_TRUE(is_wrong(scrub));
  EXPECT_EQ(scrub.error().message(), "\"pause\" is not an action of a scrub");
}

TEST(ControlRequests, ActionMustBeThereAndAText) {
  for (const Json& request : {Json::object(), Json{{"action", 1}}, Json{{"action", nullptr}}}) {
    EXPECT_THROW((void)reclaim_request_of(request), Json::exception) << request;
    EXPECT_THROW((void)scrub_request_of(request), Json::exception) << request;
    EXPECT_THROW((void)remote_request_of(request), Json::exception) << request;
  }
}

TEST(ControlRequests, SnapshotsAreAskedForByName) {
  using Action = SnapshotRequest::Action;
  EXPECT_EQ(snapshot_request_of({{"action", "list"}})->action, Action::kList);
  for (const auto& [text, action] : {std::pair{"create", Action::kCreate},
                                     {"delete", Action::kDelete},
                                     {"rollback", Action::kRollBack},
                                     {"release", Action::kRelease}}) {
    const auto request = snapshot_request_of({{"action", text}, {"name", "monday"}});
    ASSERT_TRUE(request);
    EXPECT_EQ(request->action, action);
    EXPECT_EQ(request->name, "monday");
    EXPECT_THROW((void)snapshot_request_of({{"action", text}}), Json::exception);
    EXPECT_THROW((void)snapshot_request_of({{"action", text}, {"name", 1}}), Json::exception);
  }
  EXPECT_TRUE(is_wrong(snapshot_request_of({{"action", "make"}, {"name", "x"}})));
}

TEST(SnapshotRequest, ANewOneMayHaveTheDateOfItsOriginal) {
  Json create{{"action", "create"}, {"name", "monday"}};
  EXPECT_EQ(snapshot_request_of(create)->created_unix_seconds, std::nullopt);
  create["created_unix_seconds"] = nullptr;
  EXPECT_EQ(snapshot_request_of(create)->created_unix_seconds, std::nullopt);
  create["created_unix_seconds"] = 1'700'000'000U;
  EXPECT_EQ(snapshot_request_of(create)->action, SnapshotRequest::Action::kCreate);
  EXPECT_EQ(snapshot_request_of(create)->created_unix_seconds, 1'700'000'000);
  for (const Json& wrong : {Json(-1), Json(1.5), Json("yesterday")}) {
    create["created_unix_seconds"] = wrong;
    EXPECT_TRUE(is_wrong(snapshot_request_of(create))) << wrong;
  }
}

TEST(SnapshotRequest, AHoldMayHaveADate) {
  const Json hold{{"action", "hold"}, {"name", "monday"}, {"until_unix_seconds", nullptr}};
  EXPECT_EQ(snapshot_request_of(hold)->action, SnapshotRequest::Action::kHold);
  EXPECT_EQ(snapshot_request_of(hold)->until_unix_seconds, std::nullopt);
  Json dated = hold;
  dated["until_unix_seconds"] = 1'900'000'000U;
  EXPECT_EQ(snapshot_request_of(dated)->until_unix_seconds, 1'900'000'000);
  dated["until_unix_seconds"] = UINT64_MAX;
  EXPECT_EQ(snapshot_request_of(dated)->until_unix_seconds, INT64_MAX);
  for (const Json& wrong : {Json(-1), Json(1.5), Json("tomorrow")}) {
    dated["until_unix_seconds"] = wrong;
    EXPECT_TRUE(is_wrong(snapshot_request_of(dated))) << wrong;
  }
}

TEST(ControlRequests, RatesAreNumbersOfBytes) {
  const Json rate{{"action", "set_rate"}, {"bytes_per_second", 20U << 20}};
  EXPECT_EQ(scrub_request_of(rate)->action, ScrubRequest::Action::kSetRate);
  EXPECT_EQ(scrub_request_of(rate)->bytes_per_second, 20U << 20);
  EXPECT_EQ(reclaim_request_of(rate)->action, ReclaimRequest::Action::kSetRate);
  EXPECT_EQ(reclaim_request_of(rate)->bytes_per_second, 20U << 20);
  for (const Json& wrong : {Json(-1), Json(1.5), Json("fast")}) {
    EXPECT_TRUE(is_wrong(scrub_request_of({{"action", "set_rate"}, {"bytes_per_second", wrong}})));
    EXPECT_TRUE(is_wrong(reclaim_request_of({{"action", "set_rate"}, {"bytes_per_second", wrong}})));
  }
}

TEST(SnapshotRequest, ADiffNamesOneOrTwoSnapshots) {
  const Json since{{"action", "diff"}, {"from", "monday"}, {"to", nullptr}, {"first", 0U}};
  const auto request = snapshot_request_of(since);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->action, SnapshotRequest::Action::kDiff);
  EXPECT_EQ(request->name, "monday");
  EXPECT_EQ(request->to, std::nullopt);
  Json between = since;
  between["to"] = "tuesday";
  between["first"] = 70'000U;
  EXPECT_EQ(snapshot_request_of(between)->to, "tuesday");
  EXPECT_EQ(snapshot_request_of(between)->first, 70'000U);
  for (const char* key : {"from", "to", "first"}) {
    Json cut = since;
    cut.erase(key);
    EXPECT_THROW((void)snapshot_request_of(cut), Json::exception) << key;
  }
  Json negative = since;
  negative["first"] = -1;
  EXPECT_TRUE(is_wrong(snapshot_request_of(negative)));
}

TEST(ControlRequests, AClonesPlaceIsANumberAndAName) {
  const auto request = clone_request_of({{"from", 12u}, {"parent", 1u}, {"name", "copy"}});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->from, 12U);
  EXPECT_EQ(request->parent, 1U);
  EXPECT_EQ(request->name, "copy");
  EXPECT_TRUE(is_wrong(clone_request_of({{"from", -1}, {"parent", 1u}, {"name", "copy"}})));
  EXPECT_TRUE(is_wrong(clone_request_of({{"from", 1u}, {"parent", "1"}, {"name", "copy"}})));
  EXPECT_THROW((void)clone_request_of({{"from", 1u}, {"parent", 1u}}), Json::exception);
}

TEST(ControlRequests, AQuotaHasADirectoryAndLimits) {
  EXPECT_EQ(quota_request_of({{"action", "list"}})->action, QuotaRequest::Action::kList);
  EXPECT_EQ(quota_request_of({{"action", "remove"}, {"inode", 5u}})->inode, 5u);
  const Json set = {{"action", "set"}, {"inode", 5u}, {"logical_bytes", 70u}, {"stored_bytes", nullptr}, {"files", 0u}};
  const auto request = quota_request_of(set);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->limits, (QuotaLimits{.logical_bytes = 70, .stored_bytes = {}, .files = 0}));
  for (const Json& limit : {Json(-1), Json(1.5), Json("1m")}) {
    Json wrong = set;
    wrong["logical_bytes"] = limit;
    EXPECT_TRUE(is_wrong(quota_request_of(wrong))) << limit;
  }
  EXPECT_TRUE(is_wrong(quota_request_of({{"action", "set"}, {"inode", -5}})));
  EXPECT_TRUE(is_wrong(quota_request_of({{"action", "double"}})));
  EXPECT_THROW((void)quota_request_of({{"action", "set"}, {"inode", 5u}}), Json::exception);
}

TEST(ControlRequests, ScrubTakesARateOfBytes) {
  const auto request = scrub_request_of({{"action", "start"}, {"bytes_per_second", 4096u}});

  ASSERT_TRUE(request);
  EXPECT_EQ(request->action, ScrubRequest::Action::kStart);
  EXPECT_EQ(request->bytes_per_second, 4096u);
  for (const Json& rate : {Json(-1), Json(1.5), Json("1m"), Json(nullptr)})
    EXPECT_TRUE(is_wrong(scrub_request_of({{"action", "start"}, {"bytes_per_second", rate}}))) << rate;
}

TEST(ControlRequests, InodesAreAnArrayOfNumbers) {
  const auto inodes = inodes_of({{"inodes", {1u, 7u}}});

  ASSERT_TRUE(inodes);
  EXPECT_EQ(*inodes, (std::vector<InodeNumber>{1, 7}));
  for (const Json& wrong : {Json(1u), Json{-1}, Json{"1"}, Json{1.5}})
    EXPECT_TRUE(is_wrong(inodes_of({{"inodes", wrong}}))) << wrong;
}

TEST(ControlRequests, ADeletedSetHasPairsOfNumbersAndNames) {
  const auto deleted = deleted_set_of({{"names", {{7u, 1u}, {8u, 0u}}}, {"snapshots", {"monday"}}});

  ASSERT_TRUE(deleted);
  ASSERT_EQ(deleted->names.size(), 2u);
  EXPECT_EQ(deleted->names[0].inode, 7u);
  EXPECT_EQ(deleted->names[0].parent, 1u);
  EXPECT_EQ(deleted->snapshots, std::vector<std::string>{"monday"});
  for (const Json& wrong : {Json(1u), Json{7u}, Json{{7u}}, Json{{7u, -1}}, Json{{7u, 1u, 1u}}, Json{{"7", "1"}}})
    EXPECT_TRUE(is_wrong(deleted_set_of({{"names", wrong}, {"snapshots", Json::array()}}))) << wrong;
  EXPECT_THROW((void)deleted_set_of({{"names", Json::array()}, {"snapshots", {1}}}), Json::exception);
}

}  // namespace
}  // namespace dedupfs
