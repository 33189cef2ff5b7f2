#include "codec/zstd_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <random>

#include "samples.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

ByteBuffer zstd_itself(ByteSpan in, int level) {
  ByteBuffer frame(ZSTD_compressBound(in.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), in.data(), in.size(), level));
  return frame;
}

std::optional<std::size_t> encoded_length(const ByteBuffer& in, std::size_t limit, int level) {
  ByteBuffer out(in.size());
  return zstd_codec().encode(in, out, limit, level);
}

// docs/format.md, "Region": any reader of zstd frames can read them.
TEST(ZstdCodec, AFrameIsThatOfZstd) {
  const ByteBuffer in = lines(300'000);
  for (const int level : {1, 3, 6, 19}) {
    ByteBuffer out(in.size());
    const auto length = zstd_codec().encode(in, out, in.size(), level);

    ASSERT_TRUE(length) << level;
    out.resize(*length);
    EXPECT_EQ(ZSTD_getFrameContentSize(out.data(), out.size()), in.size());
    EXPECT_EQ(out, zstd_itself(in, level)) << level;
  }
}

TEST(ZstdCodec, HigherLevelsSaveMore) {
  const ByteBuffer in = lines(300'000);

  EXPECT_LT(encoded_length(in, in.size(), 6), encoded_length(in, in.size(), 1));
  EXPECT_LT(encoded_length(in, in.size(), 19), encoded_length(in, in.size(), 6));
}

// Above level 3 the beginning is tried first, but it does not decide alone.
TEST(ZstdCodec, AnIncompressibleBeginningDoesNotHideTheRest) {
  ByteBuffer in = noise(100'000);
  const ByteBuffer rest = lines(100'000);
  in.insert(in.end(), rest.begin(), rest.end());

  for (const int level : {3, 4, 6}) EXPECT_TRUE(encoded_length(in, in.size(), level)) << level;
}

// The quick test asks for 1/64 of the whole, whatever the limit is.
TEST(ZstdCodec, AboveLevelThreeALittleToGainIsNotLookedFor) {
  ByteBuffer in = noise(640'000);
  std::fill(in.begin() + 600'000, in.begin() + 605'000, std::uint8_t{0});

  EXPECT_TRUE(encoded_length(in, in.size(), 3));
  EXPECT_FALSE(encoded_length(in, in.size(), 4));
}

// The frame of the quick test is longer than the limit, and that does not matter.
TEST(ZstdCodec, TheLimitIsNotThatOfTheQuickTest) {
  const ByteBuffer in = lines(100'000);
  const auto at_one = encoded_length(in, in.size(), 1);
  const auto at_most = encoded_length(in, in.size(), 19);
  ASSERT_TRUE(at_one && at_most);
  const std::size_t limit = *at_one - 1;
  ASSERT_LT(*at_most + 100, limit);

  EXPECT_EQ(encoded_length(in, limit, 19), at_most);
}

// Records with keys that no level finds anything in, as in dumps of databases.
ByteBuffer records(std::size_t count) {
  ByteBuffer bytes;
  const ByteBuffer keys = noise(count);
  for (std::size_t at = 0; bytes.size() < count; at += 16) {
    bytes.insert(bytes.end(), keys.begin() + static_cast<std::ptrdiff_t>(at),
                 keys.begin() + static_cast<std::ptrdiff_t>(at) + 16);
    bytes.insert(bytes.end(), 48, std::uint8_t{0});
  }
  bytes.resize(count);
  return bytes;
}

// Text of a thousand words, in which a level that looks longer finds longer matches.
ByteBuffer words(std::size_t count) {
  std::mt19937_64 generator(1);
  ByteBuffer bytes;
  while (bytes.size() < count) {
    const std::uint64_t word = generator() % 1000;
    const ByteBuffer letters = noise(2 + word % 7, word);
    bytes.insert(bytes.end(), letters.begin(), letters.end());
  }
  bytes.resize(count);
  return bytes;
}

TEST(ZstdCodec, AHighLevelIsForDataThatItMakesSmaller) {
  EXPECT_EQ(zstd_codec().worthwhile_level(words(500'000), 6), 6);
  EXPECT_EQ(zstd_codec().worthwhile_level(records(500'000), 6), 1);
}

TEST(ZstdCodec, QuickLevelsAndShortDataAreNotSampled) {
  EXPECT_EQ(zstd_codec().worthwhile_level(records(500'000), 3), 3);
  EXPECT_EQ(zstd_codec().worthwhile_level(records(30'000), 6), 6);
}

TEST(ZstdCodec, NoiseIsLeftToTheQuickTest) {
  EXPECT_EQ(zstd_codec().worthwhile_level(noise(500'000), 6), 6);
}

TEST(ZstdCodec, OtherFramesAreCorruptAndTheReasonIsNamed) {
  ByteBuffer out(1000);
  const auto reason = [&](const ByteBuffer& frame) {
    const auto decoded = zstd_codec().decode(frame, out);
    EXPECT_FALSE(decoded);
    return decoded ? std::string() : decoded.error().message();
  };
  ByteBuffer good = zstd_itself(lines(1000), 1);
  ASSERT_TRUE(zstd_codec().decode(good, out));

  EXPECT_THAT(reason(zstd_itself(lines(10'000'000), 1)), HasSubstr("zstd: the frame states another length"));
  EXPECT_THAT(reason(noise(100)), HasSubstr("another length"));
  good.pop_back();
  EXPECT_THAT(reason(good), HasSubstr("zstd: "));
}

TEST(ZstdCodec, AFrameThatStatesNoLengthIsCorrupt) {
  const ByteBuffer in = lines(1000);
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  ByteBuffer frame(ZSTD_compressBound(in.size()));
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), in.data(), in.size()));
  ZSTD_freeCCtx(context);
  ByteBuffer out(in.size());

  EXPECT_FALSE(zstd_codec().decode(frame, out));
}

TEST(ZstdCodec, AnEstimateIsTheLengthAtLevelOne) {
  const ByteBuffer in = lines(50'000);

  EXPECT_EQ(zstd_codec().estimate(in), zstd_itself(in, 1).size());
}

}  // namespace
}  // namespace dedupfs
