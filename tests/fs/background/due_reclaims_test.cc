#include "fs/background/due_reclaims.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>

#include "store/chunks/dropped_bytes.h"
#include "store/rotated_volume.h"

namespace dedupfs {
namespace {

class DueReclaimsTest : public testing::Test {
 protected:
  DueReclaims::Host host() {
    return {.is_writable = [this] { return is_writable_; },
            .is_idle = [this] { return is_idle_; },
            .is_short_of_space = [this] { return is_short_of_space_; }};
  }

  bool is_writable_ = true;
  bool is_idle_ = true;
  bool is_short_of_space_ = false;
};

TEST_F(DueReclaimsTest, NoneOfANewVolume) {
  ReclaimedVolume volume;
  DueReclaims due(volume.volume(), SettleMode::kIdle, host());
  EXPECT_FALSE(due.find(ReclaimGoal::kFreeSpace));
  EXPECT_FALSE(due.find(ReclaimGoal::kSettle));
}

TEST_F(DueReclaimsTest, WhatFilesDroppedMustBeWorthIt) {
  ReclaimedVolume volume;
  DueReclaims due(volume.volume(), SettleMode::kIdle, host());
  volume.volume().chunks().dropped().add((64 << 20) - 1);
  EXPECT_FALSE(due.find(ReclaimGoal::kFreeSpace));
  volume.volume().chunks().dropped().add(1);
  const auto found = due.find(ReclaimGoal::kFreeSpace);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->yields);

  is_short_of_space_ = true;
  const auto urgent = due.find(ReclaimGoal::kFreeSpace);
  ASSERT_TRUE(urgent);
  EXPECT_LT(urgent->garbage_left, found->garbage_left);

  is_writable_ = false;
  EXPECT_FALSE(due.find(ReclaimGoal::kFreeSpace));
}

// Asking is frequent, and a look takes a read for each container.
TEST_F(DueReclaimsTest, ContainersAreLookedAtAgainWhenEnoughIsDropped) {
  std::atomic<int> reads = 0;  // lives longer than the volume, which still reads when it is closed
  ReclaimedVolume volume;
  volume.keep(chunks(0, 3));
  volume.begin_container();
  constexpr std::uint64_t kMuch = 400 << 20;
  std::filesystem::resize_file(volume.path() / kContainersDirectory / container_name(1), kMuch);  // of holes
  volume.backing().before_read = [&](const Path& path) { reads += path.extension() == ".container" ? 1 : 0; };
  const auto looks = [&] { return reads.exchange(0) != 0; };
  DueReclaims due(volume.volume(), SettleMode::kOff, host());

  volume.volume().chunks().dropped().add(64 << 20);
  EXPECT_FALSE(due.find(ReclaimGoal::kFreeSpace));
  EXPECT_TRUE(looks());
  volume.volume().chunks().dropped().add(1 << 20);
  EXPECT_FALSE(due.find(ReclaimGoal::kFreeSpace));
  EXPECT_FALSE(looks());
  volume.volume().chunks().dropped().add(15 << 20);
  EXPECT_TRUE(due.find(ReclaimGoal::kFreeSpace));
  EXPECT_TRUE(looks());
}

// Since nobody waits for it, it leaves the volume to those who use it.
TEST_F(DueReclaimsTest, WhatIsUnderAFormerKeyIsWrittenAnewWhenTheVolumeIsIdle) {
  const RotatedVolume rotated;
  const auto kept = rotated.fill(chunks(0, 3));
  {
    ReclaimedVolume volume(rotated.path(), kept, rotated.backing());
    DueReclaims due(volume.volume(), SettleMode::kOff, host());
    EXPECT_FALSE(due.find(ReclaimGoal::kFreeSpace));
  }
  rotated.rotate();
  ReclaimedVolume volume(rotated.path(), kept, rotated.backing());
  DueReclaims due(volume.volume(), SettleMode::kOff, host());

  is_idle_ = false;
  EXPECT_FALSE(due.find(ReclaimGoal::kFreeSpace));
  is_idle_ = true;
  const auto found = due.find(ReclaimGoal::kFreeSpace);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->yields);
  EXPECT_FALSE(due.find(ReclaimGoal::kFreeSpace)) << "it left the same files as before: a further one would, too";
}

}  // namespace
}  // namespace dedupfs
