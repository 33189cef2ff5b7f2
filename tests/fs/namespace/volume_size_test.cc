#include "fs/namespace/volume_size.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

struct VolumeSizeTest : testing::Test {
  VolumeSize::Clock::time_point now = VolumeSize::Clock::now();
  VolumeSize::Clock::duration takes = 0s;
  std::uint64_t on_disk = 100;
  int measured = 0;
  VolumeSize size{[this] {
                    ++measured;
                    now += takes;
                    return on_disk;
                  },
                  [this] { return now; }};
};

TEST_F(VolumeSizeTest, IsMeasuredOnceASecond) {
  EXPECT_EQ(size.bytes(), 100u);
  on_disk = 200;
  now += 999ms;
  EXPECT_EQ(size.bytes(), 100u);
  now += 1ms;
  EXPECT_EQ(size.bytes(), 200u);
  EXPECT_EQ(measured, 2);
}

TEST_F(VolumeSizeTest, OfManyFilesIsMeasuredInAFiftiethOfTheTime) {
  takes = 200ms;
  size.bytes();
  now += 9999ms;
  size.bytes();
  EXPECT_EQ(measured, 1);
  now += 1ms;
  size.bytes();
  EXPECT_EQ(measured, 2);
}

}  // namespace
}  // namespace dedupfs
