#include "mount/clients/ask_publicly.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "mount/private_mounts.h"
#include "mount/volume_and_place.h"

namespace dedupfs {
namespace {

struct AskPublicly : VolumeAndPlace {};

// Answers of a real daemon: tests/integration/trust_test.sh.
TEST_F(AskPublicly, APathInNoMountIsRefused) {
  EXPECT_EQ(ask_publicly(place, "dedupfs.statistics").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(ask_publicly(folder.path() / "missing", "dedupfs.statistics").error().code(), ErrorCode::kNotFound);
}

TEST_F(AskPublicly, ADeadDaemonIsAnError) {
  in_private_mounts([&] {
    SilentMount(volume, place).die();
    EXPECT_FALSE(ask_publicly(place, "dedupfs.statistics"));
  });
}

TEST_F(AskPublicly, InsteadOfTheSocketOnlyWhereThatRefusedOrIsMissing) {
  const auto code_after = [&](ErrorCode refusal) {
    return ask_publicly_instead({refusal, "refused"}, place, "dedupfs.live").error().code();
  };
  EXPECT_EQ(code_after(ErrorCode::kIo), ErrorCode::kIo);
  EXPECT_EQ(code_after(ErrorCode::kNotFound), ErrorCode::kNotFound) << "no mount answers";
  EXPECT_EQ(code_after(ErrorCode::kAccessDenied), ErrorCode::kInvalidArgument) << "as asked at once";
}

struct DoubtAbout : VolumeAndPlace {
  MountEntry mount_of(std::optional<uid_t> user) const {
    return {.device = "0:42",
            .mountpoint = place,
            .type = std::string(kMountType),
            .source = volume.string(),
            .mount_options = {},
            .user = user};
  }
};

TEST_F(DoubtAbout, AUserWhoDoesNotOwnTheVolumeAnswersForTheMount) {
  const uid_t stranger = ::geteuid() + 1;
  EXPECT_EQ(doubt_about(mount_of(stranger)),
            "user " + std::to_string(stranger) + " made this mount and answers for it");
}

TEST_F(DoubtAbout, RootAndOnesOwnMountsAreBelieved) {
  EXPECT_EQ(doubt_about(mount_of(0)), std::nullopt);
  EXPECT_EQ(doubt_about(mount_of(::geteuid())), std::nullopt);
}

TEST_F(DoubtAbout, TheOwnerOfTheVolumeIsBelieved) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give the volume to another user";
  ASSERT_EQ(::chown(volume.c_str(), 4711, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(doubt_about(mount_of(4711)), std::nullopt);
  EXPECT_TRUE(doubt_about(mount_of(4712)));
}

}  // namespace
}  // namespace dedupfs
