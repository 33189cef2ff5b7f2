#include "mount/clients/sync_volume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "mount/private_mounts.h"
#include "mount/volume_and_place.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

struct SyncVolume : VolumeAndPlace {
  void SetUp() override {
    VolumeAndPlace::SetUp();
    std::ofstream(volume / kSuperblockFile) << "{}";
  }
};

TEST_F(SyncVolume, WhatIsNotMountedIsNotFound) {
  const auto synced = sync_volume(volume);
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(synced.error().message(), HasSubstr("nothing to make durable"));

  EXPECT_EQ(sync_volume(place).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(sync_volume(folder.path() / "missing").error().code(), ErrorCode::kNotFound);
}

// Syncing that one would make nothing of the volume durable.
TEST_F(SyncVolume, AnotherFilesystemOnTopIsNotTakenForIt) {
  in_private_mounts([&] {
    const SilentMount mount(volume, place);
    mount_tmpfs(place);
    const auto synced = sync_volume(volume);
    ASSERT_FALSE(synced);
    EXPECT_EQ(synced.error().code(), ErrorCode::kBusy);
    EXPECT_THAT(synced.error().message(), HasSubstr("on top of " + place.string()));
  });
}

TEST_F(SyncVolume, ADeadDaemonMakesNothingDurable) {
  in_private_mounts([&] {
    SilentMount(volume, place).die();
    EXPECT_FALSE(sync_volume(volume));
    EXPECT_FALSE(sync_volume(place));
  });
}

}  // namespace
}  // namespace dedupfs
