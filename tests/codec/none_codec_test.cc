#include "codec/none_codec.h"

#include <gtest/gtest.h>

#include "samples.h"

namespace dedupfs {
namespace {

TEST(NoneCodec, NeverPays) {
  const ByteBuffer in(1000, 0);
  ByteBuffer out(1000);

  EXPECT_FALSE(none_codec().encode(in, out, out.size(), 0));
  EXPECT_EQ(none_codec().estimate(in), 1000u);
}

TEST(NoneCodec, BytesAreTheirOwnFrame) {
  const ByteBuffer stored = noise(1000);
  ByteBuffer out(1000);

  ASSERT_TRUE(none_codec().decode(stored, out));
  EXPECT_EQ(out, stored);
}

}  // namespace
}  // namespace dedupfs
