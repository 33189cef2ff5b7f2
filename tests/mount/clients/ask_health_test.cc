#include "mount/clients/ask_health.h"

#include <gtest/gtest.h>

#include "mount/private_mounts.h"
#include "mount/volume_and_place.h"

namespace dedupfs {
namespace {

struct AskHealth : VolumeAndPlace {};

TEST_F(AskHealth, OfAMountWhoseDaemonHasDiedIsNothing) {
  in_private_mounts([&] {
    SilentMount(volume, place).die();
    const auto mounts = mounts_at(place);
    ASSERT_EQ(mounts.size(), 1u);
    const auto health = ask_health(mounts[0]);
    ASSERT_TRUE(health) << health.error().message();
    EXPECT_FALSE(*health);
  });
}

TEST_F(AskHealth, OfSomethingElseIsAnError) {
  MountEntry entry;
  entry.mountpoint = place;
  EXPECT_FALSE(ask_health(entry));
}

}  // namespace
}  // namespace dedupfs
