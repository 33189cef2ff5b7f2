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
  bool fails = false;
  VolumeSize size{[this]() -> Result<std::uint64_t> {
                    ++measured;
                    now += takes;
                    if (fails) return Error{ErrorCode::kIo, "the disk does not answer"};
                    return on_disk;
                  },
                  [this] { return now; }};
};

TEST_F(VolumeSizeTest, IsMeasuredOnceASecond) {
  EXPECT_EQ(value_of(size.bytes()), 100u);
  on_disk = 200;
  now += 999ms;
  EXPECT_EQ(value_of(size.bytes()), 100u);
  now += 1ms;
  EXPECT_EQ(value_of(size.bytes()), 200u);
  EXPECT_EQ(measured, 2);
}

TEST_F(VolumeSizeTest, OfManyFilesIsMeasuredInAFiftiethOfTheTime) {
  takes = 200ms;
  value_of(size.bytes());
  now += 9999ms;
  value_of(size.bytes());
  EXPECT_EQ(measured, 1);
  now += 1ms;
  value_of(size.bytes());
  EXPECT_EQ(measured, 2);
}

TEST_F(VolumeSizeTest, AFailureIsNoSize) {
  fails = true;
  EXPECT_TRUE(fails_with(ErrorCode::kIo, size.bytes()));
  fails = false;
  EXPECT_EQ(value_of(size.bytes()), 100u);
}

}  // namespace
}  // namespace dedupfs
