#include "store/volume/disk_reserve.h"

#include <gtest/gtest.h>

#include "support/units.h"

namespace dedupfs {
namespace {

Backing::Space disk_of(std::uint64_t bytes) {
  return {.total_bytes = bytes, .available_bytes = bytes};
}

TEST(DiskReserve, IsAPartOfTheDiskWithinBounds) {
  EXPECT_EQ(reserve_of(disk_of(100 * kMiB)), 8 * kMiB);
  EXPECT_EQ(reserve_of(disk_of(5000 * kMiB)), 100 * kMiB);
  EXPECT_EQ(reserve_of(disk_of(1 << 30)), 1024 * kMiB / 50);
  EXPECT_EQ(reserve_of(disk_of(std::uint64_t{1} << 50)), 1024 * kMiB);
}

TEST(DiskReserve, AFullVolumeHasRoomToEmptyContainers) {
  constexpr std::uint32_t kWanted = 64 * kMiB;
  for (const std::uint64_t bytes : {50 * kMiB, 400 * kMiB, 5000 * kMiB, 50'000 * kMiB}) {
    const Backing::Space disk = disk_of(bytes);
    EXPECT_LE(2 * container_bytes_on(disk, kWanted), reserve_of(disk) / 2) << bytes;
    EXPECT_GE(container_bytes_on(disk, kWanted), kMinContainerBytes) << bytes;
  }
  EXPECT_EQ(container_bytes_on(disk_of(50'000 * kMiB), kWanted), kWanted);
}

}  // namespace
}  // namespace dedupfs
