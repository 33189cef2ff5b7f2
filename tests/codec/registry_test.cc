// What every codec in the registry has to keep: a new one is tested here as it is.
#include "codec/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "samples.h"

namespace dedupfs {
namespace {

class EveryCodec : public testing::TestWithParam<const Codec*> {
 protected:
  const Codec& codec() const { return *GetParam(); }
  CodecLevels levels() const { return codec().info().levels; }

  // The frame of `in`, if there is one of at most `limit` bytes.
  std::optional<ByteBuffer> encoded(ByteSpan in, std::size_t limit, int level) const {
    ByteBuffer out(in.size());
    const auto length = codec().encode(in, out, limit, level);
    if (!length) return std::nullopt;
    EXPECT_GE(*length, 1u);
    EXPECT_LE(*length, limit);
    out.resize(*length);
    return out;
  }
};

std::string codec_name(const testing::TestParamInfo<const Codec*>& codec) {
  return std::string(codec.param->info().name);
}

INSTANTIATE_TEST_SUITE_P(, EveryCodec, testing::ValuesIn(codecs().begin(), codecs().end()), codec_name);

TEST_P(EveryCodec, GivesBackWhatItEncoded) {
  for (const int level : {levels().lowest, levels().normal, levels().highest})
    for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{200'000}}) {
      const ByteBuffer in = lines(count);
      const auto frame = encoded(in, in.size(), level);
      if (!frame) continue;  // did not pay

      ByteBuffer out(in.size());
      const auto decoded = codec().decode(*frame, out);

      ASSERT_TRUE(decoded) << decoded.error().message();
      EXPECT_EQ(out, in) << level << ' ' << count;
    }
}

TEST_P(EveryCodec, NoiseDoesNotPay) {
  for (const int level : {levels().lowest, levels().normal, levels().highest})
    EXPECT_FALSE(encoded(noise(200'000), 200'000, level)) << level;
}

TEST_P(EveryCodec, AFrameBeyondTheLimitDoesNotPay) {
  const ByteBuffer in = lines(200'000);
  const auto frame = encoded(in, in.size(), levels().normal);
  if (!frame) return;  // never pays

  EXPECT_EQ(encoded(in, frame->size() + 100, levels().normal), frame);
  EXPECT_FALSE(encoded(in, frame->size() - 1, levels().normal));
  EXPECT_FALSE(encoded(in, 0, levels().normal));
}

TEST_P(EveryCodec, AFrameOfAnotherLengthIsCorrupt) {
  const ByteBuffer in = lines(1000);
  const ByteBuffer frame = encoded(in, in.size(), levels().normal).value_or(in);
  for (const std::size_t length : {std::size_t{0}, std::size_t{999}, std::size_t{1001}, std::size_t{1'000'000}}) {
    ByteBuffer out(length);

    const auto decoded = codec().decode(frame, out);

    ASSERT_FALSE(decoded) << length;
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(decoded.error().message(), testing::StartsWith(std::string(codec().info().name) + ": "));
  }
}

TEST_P(EveryCodec, ACutOffFrameIsCorrupt) {
  const ByteBuffer in = lines(1000);
  const ByteBuffer frame = encoded(in, in.size(), levels().normal).value_or(in);
  ByteBuffer out(in.size());

  for (std::size_t length = 0; length < frame.size(); ++length)
    EXPECT_FALSE(codec().decode(ByteSpan(frame).first(length), out)) << length;
}

// Checksums keep damaged frames from codecs; those of an enemy have right ones.
TEST_P(EveryCodec, HostileFramesStayWithinTheOutput) {
  const ByteBuffer in = lines(1000);
  const ByteBuffer frame = encoded(in, in.size(), levels().normal).value_or(in);
  for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    ByteBuffer bad = frame;
    bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ (1U << bit % 8));
    ByteBuffer guarded(in.size() + 64, 0xa5);

    (void)codec().decode(bad, MutableByteSpan(guarded).first(in.size()));

    ASSERT_TRUE(std::all_of(guarded.end() - 64, guarded.end(), [](std::uint8_t byte) { return byte == 0xa5; })) << bit;
  }
}

TEST_P(EveryCodec, EstimatesAreNeverLongerThanTheBytes) {
  EXPECT_EQ(codec().estimate({}), 0u);
  EXPECT_EQ(codec().estimate(noise(1)), 1u);
  EXPECT_EQ(codec().estimate(noise(10'000)), 10'000u);
  EXPECT_LE(codec().estimate(lines(10'000)), 10'000u);
}

TEST_P(EveryCodec, LevelsAreInOrder) {
  EXPECT_LE(levels().lowest, levels().normal);
  EXPECT_LE(levels().normal, levels().highest);
  EXPECT_LE(levels().lowest, levels().quick);
  EXPECT_LE(levels().quick, levels().normal);
}

TEST_P(EveryCodec, IsFoundByNameAndNumber) {
  EXPECT_EQ(find_codec(codec().info().name), &codec());
  EXPECT_EQ(find_codec(codec().info().encoding), &codec());
  EXPECT_THAT(std::string(codec().info().name), testing::MatchesRegex("[a-z][a-z0-9]*"));
}

TEST(CodecRegistry, NamesAndNumbersAreDistinct) {
  std::set<std::string_view> names;
  std::set<PayloadEncoding> encodings;
  for (const Codec* codec : codecs()) {
    EXPECT_TRUE(names.insert(codec->info().name).second) << codec->info().name;
    EXPECT_TRUE(encodings.insert(codec->info().encoding).second) << codec->info().name;
  }
}

// docs/format.md, "Region": numbers that lie on disks already.
TEST(CodecRegistry, NumbersAreAsEver) {
  ASSERT_NE(find_codec(PayloadEncoding{0}), nullptr);
  ASSERT_NE(find_codec(PayloadEncoding{1}), nullptr);
  EXPECT_EQ(find_codec(PayloadEncoding{0})->info().name, "none");
  EXPECT_EQ(find_codec(PayloadEncoding{1})->info().name, "zstd");
}

TEST(CodecRegistry, KnowsNoOthers) {
  EXPECT_EQ(find_codec("brotli"), nullptr);
  EXPECT_EQ(find_codec(""), nullptr);
  EXPECT_EQ(find_codec(PayloadEncoding{255}), nullptr);
}

TEST(CodecRegistry, CompressedSizeTellsWhatShrinks) {
  EXPECT_EQ(default_codec().info().name, "zstd");
  EXPECT_EQ(compressed_size(noise(10'000)), 10'000u);
  EXPECT_LT(compressed_size(lines(10'000)), 5'000u);
}

}  // namespace
}  // namespace dedupfs
