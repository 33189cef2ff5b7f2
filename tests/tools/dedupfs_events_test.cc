#include "dedupfs_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "mount/private_mounts.h"
#include "mount/volume_and_place.h"
#include "outcome.h"
#include "support/files.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct RunEvents : VolumeAndPlace {
  void SetUp() override {
    VolumeAndPlace::SetUp();
    std::filesystem::create_directory(hooks);
    ::chmod(hooks.c_str(), 0755);
    overwrite(hooks / "hook", "#!/bin/sh\necho \"$DEDUPFS_EVENT $DEDUPFS_MOUNTPOINT\" >>" + told.string() + "\n");
    ::chmod((hooks / "hook").c_str(), 0755);
  }
  Outcome run(std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.end(), {"--hooks", hooks, "--state", state});
    if (arguments[0] == "--hooks") arguments.push_back(place);
    return outcome_of(run_events, arguments);
  }

  const Path hooks = folder.path() / "event.d";
  const Path state = folder.path() / "run" / "events.json";
  const Path told = folder.path() / "told";
};

TEST_F(RunEvents, ADeadDaemonIsToldOnce) {
  in_private_mounts([&] {
    SilentMount(volume, place).die();

    const Outcome first = run();
    const Outcome second = run();

    EXPECT_THAT(first.out, AllOf(HasSubstr("daemon_died " + place.string()), HasSubstr("has died")));
    EXPECT_EQ(second.out, "");
    EXPECT_THAT(content_of(told), HasSubstr("daemon_died " + place.string() + "\n"));
  });
}

TEST_F(RunEvents, AMountpointThatIsNotUtf8IsRemembered) {
  in_private_mounts([&] {
    const Path odd = folder.path() /
                     "b\xfc"
                     "cher";
    std::filesystem::create_directory(odd);
    SilentMount(volume, odd).die();

    EXPECT_THAT(run({odd}).out, HasSubstr("daemon_died"));
    EXPECT_EQ(run({odd}).out, "");
  });
}

TEST_F(RunEvents, AMountOnTopDoesNotAnswerForTheOneBelow) {
  in_private_mounts([&] {
    const SilentMount below(volume, place);
    SilentMount(volume, place, "fuse.other").die();

    const Outcome outcome = run();

    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(told));
  });
}

TEST_F(RunEvents, AMountpointWithoutAMountIsNamed) {
  const Outcome outcome = run({place});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(place.string() + " is not the mount point of a volume"));
}

TEST_F(RunEvents, AFolderOfProgramsThatIsNotThereIsNamed) {
  const Outcome outcome = outcome_of(run_events, {"--test", "--hooks", (folder.path() / "missing").string()});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("missing: No such file or directory"));
}

TEST_F(RunEvents, AStateThatIsAFolderIsNamed) {
  std::filesystem::create_directories(state);

  const Outcome outcome = run();

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(state.string() + ": Is a directory"));
}

TEST_F(RunEvents, JsonIsNotMixedWithTheOutputOfPrograms) {
  overwrite(hooks / "hook", "#!/bin/sh\necho words\n");
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--test", "--json"}).exit_code, 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");

  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--test"}).exit_code, 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "words\n");
}

TEST_F(RunEvents, AFailedServiceIsADeadDaemon) {
  const Outcome outcome = run({"--failed", "/backup"});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(content_of(told), "daemon_died /backup\n");
}

TEST_F(RunEvents, AFailedJobIsNoDeadDaemon) {
  const Outcome outcome = run({"--failed", "/backup", "--job"});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("one of its jobs has failed"));
  EXPECT_EQ(content_of(told), "job_failed /backup\n");
  EXPECT_EQ(run({"--job"}).exit_code, 1);
}

TEST_F(RunEvents, ATestRunsThePrograms) {
  const Outcome outcome = run({"--test", "--json"});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("event"), "test");
  EXPECT_EQ(content_of(told), "test /backup\n");
}

TEST_F(RunEvents, AProgramThatFailsIsNamed) {
  overwrite(hooks / "hook", "#!/bin/sh\nexit 1\n");

  const Outcome outcome = run({"--test"});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("hook failed with exit code 1"));
}

TEST_F(RunEvents, AStateThatIsDamagedIsLeftBehind) {
  in_private_mounts([&] {
    std::filesystem::create_directory(state.parent_path());
    overwrite(state, "{");
    SilentMount(volume, place).die();

    EXPECT_THAT(run().out, HasSubstr("daemon_died " + place.string()));
    EXPECT_TRUE(nlohmann::json::parse(content_of(state)).contains(place.string()));
  });
}

}  // namespace
}  // namespace dedupfs::tools
