#include "store/seal/volume_record.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

TEST(VolumeRecords, CanBeReadBackAndCutOffOnesAreRefused) {
  VolumeRecord record{.generation = 300, .is_closed = true, .unix_seconds = -5, .session = {9}};
  record.files["index/CURRENT"] = {
      .bytes = 500, .records_end = 300, .last_salt = {1, 2, 3}, .oldest_key = 200, .trailer = TrailerBytes{4}};
  record.files["containers/0000000001.container"] = {.bytes = 70'000'000};
  const std::string encoded = encode_volume_record(record);
  const auto decoded = decode_volume_record(bytes_of(encoded));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->generation, 300u);
  EXPECT_TRUE(decoded->is_closed);
  EXPECT_FALSE(decoded->is_recounted);
  EXPECT_EQ(decoded->unix_seconds, -5);
  EXPECT_EQ(decoded->session, record.session);
  EXPECT_EQ(decoded->files, record.files);
  for (std::size_t length = 0; length < encoded.size(); ++length)
    EXPECT_FALSE(decode_volume_record(bytes_of(encoded).first(length))) << length;
  EXPECT_FALSE(decode_volume_record(bytes_of(encoded + "x")));
}

}  // namespace
}  // namespace dedupfs
