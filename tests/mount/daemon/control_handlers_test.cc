#include "mount/daemon/control_handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

struct ControlHandlers : testing::Test {
  TestFilesystem fs;
  MountRequest request{.volume = fs.path(), .mountpoint = "/mnt", .options = {}, .version = "7.8"};
  std::optional<FuseMount> mount;
  ControlServer::Handlers handlers;

  ControlHandlers() { begin(); }
  void begin() {
    mount.emplace(*fs, request.options);
    handlers = control_handlers(*mount, request, /*shipper=*/nullptr);
  }
  Result<Json> ask(const std::string& command, const Json& arguments = Json::object()) {
    return handlers.at(command)(arguments, [] { return Result<void>(); });
  }
};

TEST_F(ControlHandlers, InfoSaysWhatWasMountedAndHow) {
  request.options = value_of(parse_mount_options("ro,commit=7"));
  begin();
  mount->set_device("0:99");

  const Json info = value_of(ask("info"));

  EXPECT_EQ(info.at("pid"), ::getpid());
  EXPECT_EQ(info.at("device"), "0:99");
  EXPECT_EQ(info.at("version"), "7.8");
  EXPECT_EQ(info.at("volume"), fs.path().string());
  EXPECT_EQ(info.at("mountpoint"), "/mnt");
  EXPECT_EQ(info.at("read_only"), true);
  EXPECT_EQ(value_of(parse_mount_options(info.at("options").get<std::string>())).commit_interval,
            std::chrono::seconds(7));
  EXPECT_GT(info.at("memory_bytes"), 1 << 20);
}

TEST_F(ControlHandlers, InfoCountsWhatIsNotDurable) {
  fs.make_file(kRootInode, "f", random_text(1 << 20, 1));

  EXPECT_GT(value_of(ask("info")).at("dirty_bytes"), 0);
}

TEST_F(ControlHandlers, WhoAsksToShipAVolumeThatIsNotShippedIsToldSo) {
  const auto answer = ask("remote", {{"action", "push"}});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(answer.error().message(), HasSubstr("is not shipped"));
}

TEST_F(ControlHandlers, MetricsAreThoseOfTheMount) {
  const std::string text = value_of(ask("metrics")).at("metrics");

  EXPECT_THAT(text, HasSubstr("\ndedupfs_mounted{volume=\"" + fs.path().string() + "\",mountpoint=\"/mnt\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_read_only{"));
  EXPECT_THAT(text, HasSubstr("\ndedupfs_available_bytes{"));
}

TEST_F(ControlHandlers, MetricsComeAsOpenMetricsToo) {
  const std::string text = value_of(ask("metrics", {{"format", "openmetrics"}})).at("metrics");

  EXPECT_THAT(text, testing::EndsWith("\n# EOF\n"));
  EXPECT_EQ(ask("metrics", {{"format", "xml"}}).error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(ControlHandlers, LiveStatisticsHaveWhatIsCountedSinceTheMount) {
  fs.make_file(kRootInode, "f", random_text(100'000, 1));
  ASSERT_TRUE(ok(fs->sync()));

  const Json live = value_of(ask("live"));

  EXPECT_EQ(live.at("performance").at("stages").at(0).at("bytes"), 100'000) << live.dump(1);
  EXPECT_EQ(live.at("scrub").at("running"), false);
  EXPECT_EQ(live.at("reclaim").at("running"), false);
}

TEST_F(ControlHandlers, SyncMakesDurable) {
  fs.make_file(kRootInode, "f", "content");

  ASSERT_TRUE(ok(ask("sync")));

  EXPECT_TRUE(fs.after_crash()->find("f"));
}

TEST_F(ControlHandlers, StatisticsCountWhatWasWrittenBeforeThem) {
  fs.make_file(kRootInode, "f", random_text(100'000, 1));

  const Json statistics = value_of(ask("statistics")).at("statistics");

  EXPECT_EQ(statistics.at("files"), 1) << statistics.dump(1);
}

TEST_F(ControlHandlers, StatisticsOfFilesComeInTheirOrder) {
  const InodeNumber one = fs.make_file(kRootInode, "one", random_text(10'000, 1));
  const InodeNumber two = fs.make_file(kRootInode, "two", random_text(20'000, 2));

  const Json files = value_of(ask("files", {{"inodes", {two, one}}})).at("files");

  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].at("logical_bytes"), 20'000);
  EXPECT_EQ(files[1].at("logical_bytes"), 10'000);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, ask("files", {{"inodes", "all"}})));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, ask("files", {{"inodes", Json::array({4711u})}})));
}

TEST_F(ControlHandlers, WhatDeletionsFreeIsCountedOfWhatWasWrittenBefore) {
  constexpr std::uint64_t kBytes = 100'000;
  const InodeNumber folder = fs.make_directory(kRootInode, "folder");
  const InodeNumber file = fs.make_file(folder, "file", random_text(kBytes, 1));
  fs.make_file(kRootInode, "other", random_text(kBytes, 2));

  const Json one = value_of(ask("freed", {{"names", {{file, folder}}}, {"snapshots", Json::array()}})).at("freed");
  EXPECT_GT(one.at("freed_bytes"), kBytes / 2);
  EXPECT_LT(one.at("freed_bytes"), kBytes + kBytes / 10);
  const Json folders = value_of(ask("folders", {{"inodes", {kRootInode}}})).at("folders");
  EXPECT_EQ(folders.at(0).at(1).at("name"), "folder");
  EXPECT_EQ(folders.at(0).at(1).at("own_bytes"), one.at("freed_bytes"));
  value_of(ask("snapshot", {{"action", "create"}, {"name", "monday"}}));
  EXPECT_GT(value_of(ask("snapshot_sizes")).at("sizes").at("1").at("used_bytes"), kBytes);
}

TEST_F(ControlHandlers, SnapshotsAreMadeListedAndDeleted) {
  fs.make_file(kRootInode, "f", "content");
  const auto names = [](const Result<Json>& answer) {
    std::vector<std::string> found;
    const Json snapshots = value_of(answer).at("snapshots");
    for (const Json& snapshot : snapshots) found.push_back(snapshot.at("name"));
    return found;
  };

  EXPECT_THAT(names(ask("snapshot", {{"action", "create"}, {"name", "a"}})), testing::ElementsAre("a"));
  EXPECT_THAT(names(ask("snapshot", {{"action", "create"}, {"name", "b"}})), testing::ElementsAre("a", "b"));
  EXPECT_THAT(names(ask("snapshot", {{"action", "delete"}, {"name", "a"}})), testing::ElementsAre("b"));
  EXPECT_THAT(names(ask("snapshot", {{"action", "list"}})), testing::ElementsAre("b"));
  EXPECT_FALSE(ask("snapshot", {{"action", "delete"}, {"name", "a"}}));
}

TEST_F(ControlHandlers, ASnapshotHasTheDateOfItsOriginalIfThatIsNotYetToCome) {
  Json create{{"action", "create"}, {"name", "a"}, {"created_unix_seconds", 1'700'000'000U}};
  EXPECT_EQ(value_of(ask("snapshot", create)).at("snapshots").at(0).at("created_unix_seconds"), 1'700'000'000);

  create["name"] = "b";
  create["created_unix_seconds"] = static_cast<std::uint64_t>(std::time(nullptr)) + 3600;
  const auto answer = ask("snapshot", create);
  ASSERT_TRUE(fails_with(ErrorCode::kInvalidArgument, answer));
  EXPECT_THAT(answer.error().message(), HasSubstr("yet to come"));
}

// An unmount waits for it.
TEST_F(ControlHandlers, ADifferenceEndsOnceNobodyWaitsForIt) {
  ASSERT_TRUE(ok(ask("snapshot", {{"action", "create"}, {"name", "a"}})));
  for (int i = 0; i < 300; ++i) fs->forget(fs.make_file(kRootInode, std::to_string(i)), 1);
  const Json difference = {{"action", "diff"}, {"from", "a"}, {"to", nullptr}, {"first", 0U}};
  EXPECT_EQ(value_of(ask("snapshot", difference)).at("total_changes"), 300);

  const auto answer = handlers.at("snapshot")(difference, [] {
    return Result<void>(Error{ErrorCode::kInterrupted, "nobody waits for the answer"});
  });

  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, answer));
}

TEST_F(ControlHandlers, ARollBackHasTheFilesystemAlone) {
  ASSERT_TRUE(ok(ask("snapshot", {{"action", "create"}, {"name", "a"}})));
  fs->forget(fs.make_file(kRootInode, "later", "content"), 1);
  std::thread rollback;
  {
    const QuiesceGate::Pass request_of_the_kernel(mount->requests());
    rollback = std::thread([&] { EXPECT_TRUE(ok(ask("snapshot", {{"action", "rollback"}, {"name", "a"}}))); });
    EXPECT_TRUE(fs.find("later")) << "it waits for the request";
  }
  rollback.join();

  EXPECT_FALSE(fs.find("later"));
}

TEST_F(ControlHandlers, ACloneIsDurableWhereNamesHaveToBe) {
  const InodeNumber file = fs.make_file(kRootInode, "f", "content");
  ASSERT_TRUE(ok(ask("sync")));
  for (const bool dirsync : {false, true}) {
    mount->set_synchronous(false, dirsync);
    const std::string name = dirsync ? "durable" : "not durable";
    ASSERT_TRUE(ok(ask("clone", {{"from", file}, {"parent", kRootInode}, {"name", name}})));

    EXPECT_EQ(fs.content(value_of(fs.find(name))), "content");
    EXPECT_EQ(fs.after_crash()->find(name).has_value(), dirsync);
  }
}

TEST_F(ControlHandlers, ARemountSetsWhatTheKernelKeepsToItself) {
  ASSERT_TRUE(ok(ask("remount", {{"sync", false}, {"dirsync", true}})));
  EXPECT_FALSE(mount->is_sync());
  EXPECT_TRUE(mount->is_dirsync());
  ASSERT_TRUE(ok(ask("remount", {{"sync", true}, {"dirsync", false}})));
  EXPECT_TRUE(mount->is_sync());
}

TEST_F(ControlHandlers, AReclaimAndAScrubTellHowFarTheyAre) {
  EXPECT_TRUE(value_of(ask("reclaim", {{"action", "status"}})).at("reclaim").contains("running"));
  const Json scrub = value_of(ask("scrub", {{"action", "status"}})).at("scrub");
  EXPECT_TRUE(scrub.contains("running"));
  EXPECT_EQ(scrub.at("damaged_files"), nullptr) << "none has ended";
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, ask("reclaim", {{"action", "explode"}})));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, ask("scrub", {{"action", "explode"}})));
}

TEST_F(ControlHandlers, AStreamSaysHowFarItIsUntilItEnds) {
  const auto transfers = std::make_shared<RunningTransfers>();
  handlers = control_handlers(*mount, request, /*shipper=*/nullptr, transfers);
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, ask("transfer", {{"transfer", "mine"}})));
  transfers->note("mine", {.stream_bytes = 3, .done_bytes = 5, .content_bytes = 7});
  transfers->note("", {.stream_bytes = 1});

  const Json answer = value_of(ask("transfer", {{"transfer", "mine"}}));

  EXPECT_EQ(answer.at("stream_bytes"), 3);
  EXPECT_EQ(answer.at("done_bytes"), 5);
  EXPECT_EQ(answer.at("content_bytes"), 7);
  EXPECT_FALSE(ask("transfer", {{"transfer", ""}})) << "who gave no name asks for nothing";
  transfers->end("mine");
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, ask("transfer", {{"transfer", "mine"}})));
}

TEST_F(ControlHandlers, AReadOnlyVolumeReclaimsNothingButIsCounted) {
  fs.make_file(kRootInode, "f", "content");
  mount.reset();
  fs.reopen(/*read_only=*/true);
  begin();

  const auto reclaim = ask("reclaim", {{"action", "status"}});

  ASSERT_TRUE(fails_with(ErrorCode::kReadOnly, reclaim));
  EXPECT_THAT(reclaim.error().message(), HasSubstr("mount it for writing"));
  EXPECT_TRUE(ok(ask("statistics")));
  EXPECT_FALSE(ask("snapshot", {{"action", "create"}, {"name", "a"}}));
}

// Who waits, and who only looks, sees how far it is.
TEST_F(ControlHandlers, LongRequestsTellHowFarTheyAreAndAreListed) {
  const InodeNumber tree = fs.make_directory(kRootInode, "tree");
  for (int i = 0; i < 600; ++i) fs->forget(fs.make_file(tree, std::to_string(i), "content"), 1);
  const std::vector<std::pair<std::string, Json>> requests = {
      {"clone", {{"from", tree}, {"parent", kRootInode}, {"name", "copy"}}},
      {"quota",
       {{"action", "set"},
        {"inode", tree},
        {"logical_bytes", 1U << 20},
        {"stored_bytes", nullptr},
        {"files", nullptr}}},
      {"folders", {{"inodes", {kRootInode}}}},
      {"freed", {{"names", {{tree, kRootInode}}}, {"snapshots", Json::array()}}},
      {"snapshot_sizes", Json::object()},
  };
  ASSERT_TRUE(ok(ask("snapshot", {{"action", "create"}, {"name", "a"}})));
  for (const auto& [command, arguments] : requests) {
    Json told, listed;
    const auto answer = handlers.at(command)(
        arguments, [] { return Result<void>(); },
        [&](const std::function<Json()>& progress) {
          told = progress();
          listed = value_of(ask("live")).at("jobs");
        });
    ASSERT_TRUE(ok(answer)) << command;
    ASSERT_TRUE(told.is_object()) << command;
    EXPECT_EQ(told.at("name"), command);
    EXPECT_GT(told.at("total"), 600) << command;
    ASSERT_EQ(listed.size(), 1u) << command;
    EXPECT_EQ(listed.at(0).at("name"), command);
    EXPECT_EQ(value_of(ask("live")).at("jobs"), Json::array()) << command << " has ended";
  }
}

}  // namespace
}  // namespace dedupfs
