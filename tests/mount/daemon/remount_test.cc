#include "mount/daemon/remount.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "mount/control/control_socket.h"
#include "mount/options/mount_request.h"
#include "mount/private_mounts.h"
#include "mount/volume_and_place.h"
#include "support/folder_at.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

struct Remount : VolumeAndPlace {
  std::string flags() const { return mounts_at(place).at(0).mount_options; }
  void expect_exit(int code, const MountOptions& options, const std::string& message) const {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_remount(place, options), code);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(message));
  }
};

// What a daemon is asked.
struct RecordingDaemon {
  explicit RecordingDaemon(const Path& volume, const Json& info) {
    const auto recording = [this](const std::string& name, const Json& answer) {
      return [this, name, answer](const Json& request) -> Result<Json> {
        asked.push_back(name);
        if (name == "remount") sync = request.at("sync");
        return answer;
      };
    };
    ControlServer::Handlers handlers;
    handlers["info"] = recording("info", info);
    handlers["remount"] = recording("remount", Json::object());
    handlers["sync"] = recording("sync", Json::object());
    server = std::move(*ControlServer::start(*folder_at(volume), handlers));
  }

  std::vector<std::string> asked;
  bool sync = false;
  std::unique_ptr<ControlServer> server;
};

TEST_F(Remount, WhereNoVolumeIsMountedItFails) {
  in_private_mounts([&] {
    expect_exit(kMountFailed, {}, "no volume is mounted at");
    mount_tmpfs(place);
    expect_exit(kMountFailed, {}, "no volume is mounted at");
  });
}

TEST_F(Remount, WithoutADaemonNothingChanges) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    expect_exit(kMountUsage, {.read_only = true}, "its daemon does not answer");
    EXPECT_THAT(flags(), HasSubstr("rw"));
  });
}

TEST_F(Remount, ToReadOnlyMakesDurableWhatWasWritten) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    RecordingDaemon daemon(volume, {{"options", ""}, {"read_only", false}});

    EXPECT_EQ(run_remount(place, {.read_only = true}), kMounted);

    EXPECT_THAT(flags(), HasSubstr("ro"));
    EXPECT_THAT(daemon.asked, ElementsAre("info", "remount", "sync"));
    EXPECT_FALSE(daemon.sync);
  });
}

TEST_F(Remount, TheDaemonLearnsWhatTheKernelKeepsToItself) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    RecordingDaemon daemon(volume, {{"options", ""}, {"read_only", false}});

    EXPECT_EQ(run_remount(place, {.sync = true}), kMounted);

    EXPECT_THAT(daemon.asked, ElementsAre("info", "remount"));
    EXPECT_TRUE(daemon.sync);
  });
}

TEST_F(Remount, ADaemonThatCannotWriteStaysReadOnly) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    RecordingDaemon daemon(volume, {{"options", ""}, {"read_only", true}});

    testing::internal::CaptureStderr();
    EXPECT_NE(run_remount(place, {}), kMounted);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("dedupfs: "));

    EXPECT_THAT(daemon.asked, ElementsAre("info"));
  });
}

TEST_F(Remount, AnswersOfAnotherFormAreErrors) {
  for (const Json& info :
       {Json{{"options", 7}}, Json{{"options", ""}, {"read_only", "no"}}, Json{{"options", "no_such_option"}}}) {
    in_private_mounts([&] {
      const SilentMount mount(volume, place);
      const RecordingDaemon daemon(volume, info);
      testing::internal::CaptureStderr();
      EXPECT_EQ(run_remount(place, {.read_only = true}), kMountFailed) << info;
      testing::internal::GetCapturedStderr();
      EXPECT_THAT(flags(), HasSubstr("rw"));
    });
  }
}

// They are security decisions of whoever mounted it.
TEST_F(Remount, SuidAndDevStayAsTheyAreUnlessTheyAreNamed) {
  in_private_mounts([&] {
    mount_tmpfs(place, MS_NOSUID);
    ASSERT_TRUE(remount_read_only(mounts_at(place).at(0)));
    EXPECT_THAT(flags(), HasSubstr("ro"));
    EXPECT_THAT(flags(), HasSubstr("nosuid"));
    EXPECT_THAT(flags(), Not(HasSubstr("nodev")));
  });
  in_private_mounts([&] {
    const SilentMount mount(volume, place);  // nosuid, nodev
    RecordingDaemon daemon(volume, {{"options", ""}, {"read_only", false}});
    EXPECT_EQ(run_remount(place, {.exec = false}), kMounted);
    EXPECT_THAT(flags(), HasSubstr("nosuid"));
    EXPECT_THAT(flags(), HasSubstr("nodev"));
    EXPECT_EQ(run_remount(place, {.suid = true, .exec = false}), kMounted);
    EXPECT_THAT(flags(), HasSubstr("nodev"));
    EXPECT_THAT(flags(), HasSubstr("noexec"));
    EXPECT_THAT(flags(), Not(HasSubstr("nosuid")));
  });
}

TEST_F(Remount, OnlyRootMakesAMountReadOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user needs root";
  in_private_mounts([&] {
    std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
    mount_tmpfs(place);
    const MountEntry entry = mounts_at(place).at(0);
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(kNotAllowedHere);
    const auto result = remount_read_only(entry);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kNotPermitted);
  });
}

}  // namespace
}  // namespace dedupfs
