#include <gtest/gtest.h>

#include "by_spec.h"
#include "chunkers/kernels/crc_table.h"
#include "definitions.h"

namespace dedupfs {
namespace {

TEST(CrcTables, AreThoseOfThePolynomial) {
  EXPECT_EQ(kCrcTables.in[1], 0x77073096u);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(kCrcTables.in[i], crc_of(static_cast<std::uint8_t>(i))) << i;
}

TEST(CrcTables, SayWhatAByteLeavesBehindWhenItLeavesTheWindow) {
  for (std::size_t i = 0; i < 256; ++i) {
    std::uint32_t crc = crc_of(static_cast<std::uint8_t>(i));
    for (std::size_t zeros = 0; zeros < kCrcWindowBytes; ++zeros)
      crc = crc >> 8 ^ crc_of(static_cast<std::uint8_t>(crc));
    EXPECT_EQ(kCrcTables.out[i], crc) << i;
  }
}

TEST(Crc, ZerosAreCutAtEveryMinimum) {
  EXPECT_EQ(cuts_of("crc:min=300,avg=1k,max=4k", ByteBuffer(1000, 0)), (Ends{300, 600, 900, 1000}));
}

TEST(Crc, OtherRunsOfOneByteAreCutAtEveryMinimumOrMaximum) {
  std::size_t at_maximum = 0;
  for (unsigned byte = 1; byte < 256; ++byte) {
    const Ends ends = cuts_of("crc:min=256,avg=1k,max=2k", ByteBuffer(4096, static_cast<std::uint8_t>(byte)));
    EXPECT_TRUE(ends.size() == 2 || ends.size() == 16) << byte;
    at_maximum += ends == Ends{2048, 4096};
  }
  EXPECT_GT(at_maximum, 200u);
}

// The window of 256 zeros is the first one whose CRC is 0.
TEST(Crc, TheMatchingByteBeginsTheNextChunk) {
  const ByteBuffer data = joined({random_bytes(300, 1, 254), {255}, ByteBuffer(256, 0), {1}, random_bytes(50, 2)});

  EXPECT_EQ(cuts_of("crc:min=256,avg=1m,max=1m", data), (Ends{301 + 255, data.size()}));
}

TEST(Crc, OneZeroLessIsNoCut) {
  const ByteBuffer data = joined({random_bytes(300, 1, 254), {255}, ByteBuffer(255, 0), {1}, random_bytes(50, 2)});

  EXPECT_EQ(cuts_of("crc:min=256,avg=1m,max=1m", data), Ends{data.size()});
}

TEST(Crc, DataUpToTheMinimumIsOneChunk) {
  for (const std::size_t bytes : {1u, 256u, 299u, 300u})
    EXPECT_EQ(cuts_of("crc:min=300,avg=1k", ByteBuffer(bytes, 0)), Ends{bytes});
}

// The byte that matches is the last of the window, and the first of the next chunk.
TEST(Crc, TheLast256BytesDecide) {
  const std::string spec = "crc:min=256,avg=1k,max=64k";
  const ByteBuffer data = random_bytes(200'000, 3);
  const Ends ends = cuts_of(spec, data);
  ASSERT_GT(ends.size(), 100u);

  for (std::size_t i = 0; i < 50; ++i) {
    const std::size_t window = ends[i] + 1 - kCrcWindowBytes;
    const ByteBuffer deciding(data.begin() + static_cast<std::ptrdiff_t>(window),
                              data.begin() + static_cast<std::ptrdiff_t>(window + kCrcWindowBytes));
    EXPECT_EQ(first_cut_of(spec, joined({{7}, deciding, ByteBuffer(200, 1)})), 256u) << i;
  }
}

TEST(Crc, TheMinimumIsNoLessThanTheWindow) {
  EXPECT_EQ(full_spec_of("crc:avg=512"), "crc:min=256,avg=512,max=2k");
  EXPECT_EQ(refusal_of("crc:min=255,avg=1k"),
            "chunker crc: min=255 is smaller than the window of the hash (256 bytes)");
  EXPECT_EQ(refusal_of("crc:avg=128"), "chunker crc: min=256, avg=128, max=512 break min <= avg <= max");
}

TEST(Crc, TheAverageIsAPowerOfTwo) {
  EXPECT_EQ(refusal_of("crc:avg=3k"), "chunker crc: avg=3k is not allowed (powers of two from 64 to 1m)");
  EXPECT_EQ(refusal_of("crc:avg=4k,norm=1"), "chunker crc has no parameter 'norm' (allowed: min, avg, max)");
}

}  // namespace
}  // namespace dedupfs
