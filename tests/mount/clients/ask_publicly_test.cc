#include "mount/clients/ask_publicly.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dedupfs
