#include "fs/format/hold_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

using testing::IsEmpty;

TEST(HoldRecords, AreReadBackAndDamagedOnesRefused) {
  const std::map<TreeNumber, SnapshotHold> holds{
      {1, {.until_released = true}}, {7, {.until_unix_seconds = 1'900'000'000, .until_volume_seconds = 99}}};
  const std::string stored = encode_holds(holds);
  EXPECT_EQ(value_of(decode_holds(stored)), holds);
  EXPECT_THAT(value_of(decode_holds(encode_holds({}))), IsEmpty());
  for (const std::string& damaged :
       {std::string(), stored.substr(0, stored.size() - 1), stored + stored.substr(1), "\x02" + stored.substr(1),
        std::string("\x01\x00\x00\x00\x00", 5), std::string("\x01\x01\x02\x00\x00", 5)})
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, decode_holds(damaged)));
}

TEST(HoldRecords, TheTimeOfTheVolumeIsReadBackAndDamageRefused) {
  const VolumeTimeRecord record{.seconds = 12345, .boot = {.boot = {1, 2, 3}, .seconds = 99}};
  const std::string stored = encode_volume_time(record);
  EXPECT_EQ(value_of(decode_volume_time(stored)), record);
  std::string far = stored;
  far[7] = '\x7f';
  for (const std::string& damaged : {std::string(), stored + "x", stored.substr(1), "\x02" + stored.substr(1), far})
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, decode_volume_time(damaged)));
}

}  // namespace
}  // namespace dedupfs
