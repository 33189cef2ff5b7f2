#include "mount/daemon/dead_mount.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mount/private_mounts.h"
#include "mount/volume_and_place.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

struct DeadMount : VolumeAndPlace {
  int detached() const {
    const auto result = detach_dead_mounts(volume, place);
    EXPECT_TRUE(result) << result.error().message();
    return result.value_or(-1);
  }
  void expect_busy(const std::string& reason) const {
    const std::size_t before = mounts_at(place).size();
    const auto result = detach_dead_mounts(volume, place);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kBusy);
    EXPECT_THAT(result.error().message(), HasSubstr(reason));
    EXPECT_EQ(mounts_at(place).size(), before);
  }
};

TEST_F(DeadMount, WhereNothingIsMountedNothingIsDone) {
  in_private_mounts([&] { EXPECT_EQ(detached(), 0); });
}

TEST_F(DeadMount, ThatOfThisVolumeIsDetached) {
  in_private_mounts([&] {
    SilentMount(volume, place).die();
    ASSERT_EQ(mounts_at(place).size(), 1u);
    EXPECT_EQ(detached(), 1);
    EXPECT_TRUE(mounts_at(place).empty());
  });
}

TEST_F(DeadMount, SeveralAreDetachedTheTopmostFirst) {
  in_private_mounts([&] {
    SilentMount below(volume, place);
    SilentMount above(volume, place);
    below.die();
    above.die();
    EXPECT_EQ(detached(), 2);
    EXPECT_TRUE(mounts_at(place).empty());
  });
}

TEST_F(DeadMount, ALiveMountStays) {
  in_private_mounts([&] {
    mount_tmpfs(place);
    EXPECT_EQ(detached(), 0);
    EXPECT_EQ(mounts_at(place).size(), 1u);
  });
}

TEST_F(DeadMount, BelowALiveOneItStays) {
  in_private_mounts([&] {
    SilentMount(volume, place).die();
    mount_tmpfs(place);
    EXPECT_EQ(detached(), 0);
    EXPECT_EQ(mounts_at(place).size(), 2u);
  });
}

TEST_F(DeadMount, AboveALiveOneItGoes) {
  in_private_mounts([&] {
    mount_tmpfs(place);
    SilentMount(volume, place).die();
    EXPECT_EQ(detached(), 1);
    EXPECT_EQ(mounts_at(place).size(), 1u);
  });
}

TEST_F(DeadMount, ThatOfAnotherVolumeIsNotOurs) {
  in_private_mounts([&] {
    SilentMount("/srv/another", place).die();
    expect_busy("the daemon of /srv/another (fuse.dedupfs) has died");
  });
}

TEST_F(DeadMount, ThatOfAnotherFilesystemIsNotOurs) {
  in_private_mounts([&] {
    SilentMount(volume, place, "fuse.sshfs").die();
    expect_busy("(fuse.sshfs) has died");
  });
}

TEST_F(DeadMount, AnotherPlaceIsNotTouched) {
  std::filesystem::create_directory(folder.path() / "elsewhere");
  in_private_mounts([&] {
    SilentMount(volume, folder.path() / "elsewhere").die();
    EXPECT_EQ(detached(), 0);
    EXPECT_EQ(mounts_at(folder.path() / "elsewhere").size(), 1u);
  });
}

}  // namespace
}  // namespace dedupfs
