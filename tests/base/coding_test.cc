#include "base/coding.h"

#include <gtest/gtest.h>

#include <limits>

namespace dedupfs {
namespace {

TEST(Coding, DecodesWhatItEncoded) {
  std::string out;
  Encoder encode(out);
  encode.u8(0xab);
  encode.u16(0x1234);
  encode.u32(0xdeadbeef);
  encode.u64(0x0123456789abcdef);
  encode.big_u64(0x0123456789abcdef);
  encode.bytes("name");

  Decoder decode(out);

  EXPECT_EQ(decode.u8(), 0xab);
  EXPECT_EQ(decode.u16(), 0x1234);
  EXPECT_EQ(decode.u32(), 0xdeadbeef);
  EXPECT_EQ(decode.u64(), 0x0123456789abcdefU);
  EXPECT_EQ(decode.big_u64(), 0x0123456789abcdefU);
  EXPECT_EQ(text_of(decode.bytes(4)), "name");
  EXPECT_TRUE(decode.ok_at_end());
}

TEST(Coding, VarintsOfEveryLengthComeBack) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t value : {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit}) {
      std::string out;
      Encoder(out).varint(value);
      Encoder(out).signed_varint(static_cast<std::int64_t>(value));
      Encoder(out).signed_varint(static_cast<std::int64_t>(0 - value));

      Decoder decode(out);

      EXPECT_EQ(decode.varint(), value);
      EXPECT_EQ(decode.signed_varint(), static_cast<std::int64_t>(value));
      EXPECT_EQ(decode.signed_varint(), static_cast<std::int64_t>(0 - value));
      EXPECT_TRUE(decode.ok_at_end());
    }
  }
}

TEST(Coding, SmallNegativeNumbersTakeOneByte) {
  std::string out;

  Encoder(out).signed_varint(-64);

  EXPECT_EQ(out.size(), 1U);
}

TEST(Coding, RefusesAVarintThatDoesNotFit64Bits) {
  const std::string eleven_bytes(10, '\xff');
  Decoder decode(eleven_bytes);

  decode.varint();

  EXPECT_FALSE(decode.ok());
}

TEST(Coding, FailsOnceAndStaysFailedAtTheEndOfInput) {
  Decoder decode(std::string_view("\x01\x02\x03", 3));

  decode.u32();
  decode.u8();

  EXPECT_FALSE(decode.ok());
  EXPECT_EQ(decode.remaining(), 0U);
}

TEST(Coding, BigEndianKeysSortLikeNumbers) {
  std::string small;
  std::string large;
  Encoder(small).big_u64(255);
  Encoder(large).big_u64(256);

  EXPECT_LT(small, large);
}

}  // namespace
}  // namespace dedupfs
