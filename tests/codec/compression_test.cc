#include "codec/compression.h"

#include <gtest/gtest.h>

#include "codec/none_codec.h"
#include "codec/zstd_codec.h"

namespace dedupfs {
namespace {

TEST(Compression, IsParsedAndFormatted) {
  EXPECT_EQ(format_compression(*parse_compression("none")), "none");
  EXPECT_EQ(format_compression(*parse_compression("zstd")), "zstd:9");
  EXPECT_EQ(format_compression(*parse_compression("zstd:1")), "zstd:1");
  EXPECT_EQ(format_compression(*parse_compression("zstd:19")), "zstd:19");
  for (const char* bad : {"", "lz4", "zstd:", "zstd:0", "zstd:20", "zstd:-1", "zstd:3x", "ZSTD", "none:1", "zstd: 3",
                          "none:", "none:0", ":", ":6", "zstd:6:6", "zstd:99999999999"})
    EXPECT_FALSE(parse_compression(bad)) << bad;
}

TEST(Compression, WhatIsParsedIsACodecAndALevel) {
  EXPECT_EQ(*parse_compression("zstd:3"), (Compression{.codec = &zstd_codec(), .level = 3}));
  EXPECT_EQ(*parse_compression("none"), Compression::none());
  EXPECT_EQ(Compression::none().codec, &none_codec());
  EXPECT_TRUE(Compression::none().is_none());
  EXPECT_FALSE(Compression().is_none());
}

TEST(Compression, EveryCodecIsASpecAndComesBack) {
  for (const Codec* codec : codecs()) {
    const auto compression = parse_compression(codec->info().name);

    ASSERT_TRUE(compression) << codec->info().name;
    EXPECT_EQ(compression->codec, codec);
    EXPECT_EQ(compression->level, codec->info().levels.normal);
    EXPECT_EQ(*parse_compression(format_compression(*compression)), *compression);
  }
}

TEST(Compression, ByDefaultDataLandsWithZstdOneAndIsSettledWithZstdNine) {
  EXPECT_EQ(format_compression(CompressionTiers().landing), "zstd:1");
  EXPECT_EQ(format_compression(CompressionTiers().settled), "zstd:9");
}

TEST(Compression, ABadSpecIsNamedWithWhatIsAllowed) {
  const auto bad = parse_compression("brotli");

  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(bad.error().message(), "'brotli' is not a compression (none, zstd, or zstd:1 to zstd:19)");
}

TEST(Compression, TheFormsOfASpecAreListedForHelp) {
  EXPECT_EQ(compression_forms(), "zstd[:LEVEL]|none");
}

TEST(Compression, TheQuickVariantTakesNoMoreEffortThanTheSetting) {
  const auto quick = [](const char* spec) { return format_compression(parse_compression(spec)->quick()); };

  EXPECT_EQ(quick("zstd:1"), "zstd:1");
  EXPECT_EQ(quick("zstd:6"), "zstd:1");
  EXPECT_EQ(quick("zstd:19"), "zstd:1");
  EXPECT_EQ(quick("none"), "none");
}

TEST(CompressionTiers, AreInOrderIfSettlingMakesNothingLarger) {
  const auto in_order = [](const char* landing, const char* settled) {
    return CompressionTiers{.settled = *parse_compression(settled), .landing = *parse_compression(landing)}
        .are_in_order();
  };

  EXPECT_TRUE(in_order("zstd:1", "zstd:9"));
  EXPECT_TRUE(in_order("zstd:9", "zstd:9"));
  EXPECT_TRUE(in_order("none", "zstd:1"));
  EXPECT_TRUE(in_order("none", "none"));
  EXPECT_FALSE(in_order("zstd:9", "zstd:1"));
  EXPECT_FALSE(in_order("zstd:1", "none"));
}

TEST(CompressionTiers, AreOneWhereNothingIsQuicker) {
  EXPECT_TRUE(CompressionTiers{.settled = Compression::none()}.are_one());
  EXPECT_TRUE(CompressionTiers{.settled = parse_compression("zstd:1").value()}.are_one());
  EXPECT_FALSE(CompressionTiers{.settled = parse_compression("zstd:2").value()}.are_one());
}

}  // namespace
}  // namespace dedupfs
