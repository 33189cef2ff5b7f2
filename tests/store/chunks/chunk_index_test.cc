#include "store/chunks/chunk_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/coding.h"
#include "hex.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

ChunkExtent sample_extent() {
  ChunkExtent extent;
  extent.first = ChunkId{1'000'000};
  extent.place = {.container = 17, .offset = 64};
  extent.region_disk_bytes = 150'000;
  extent.region_payload_bytes = 262'144;
  extent.chunks = {{.raw_length = 8192},
                   {.raw_length = 1, .delta_length = 20, .sources = {ChunkId{5}, ChunkId{6}, ChunkId{3}}},
                   {.raw_length = kMaxChunkBytes},
                   {.raw_length = 300, .delta_length = 17, .sources = {ChunkId{1'000'009}}}};
  return extent;
}

TEST(ChunkIndex, RunComesBackAsItWasEncoded) {
  const ChunkExtent extent = sample_extent();

  const auto decoded = decode_extent(encode_extent_key(extent.first), encode_extent(extent));

  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, extent);
}

// docs/format.md, "Chunk index": bytes that lie on disks already.
TEST(ChunkIndex, RunIsWrittenAsEver) {
  ChunkExtent extent = sample_extent();
  extent.chunks = {{.raw_length = 8192},
                   {.raw_length = 1, .delta_length = 20, .sources = {ChunkId{999'999}}},
                   {.raw_length = 300},
                   {.raw_length = 300, .delta_length = 17, .sources = {ChunkId{1'000'009}}}};

  EXPECT_EQ(hex(encode_extent_key(extent.first)), "00000000000f4240");
  EXPECT_EQ(hex(encode_extent(extent)), "1140f0930980801004804001ac02ac020103041401030b11");
}

TEST(ChunkIndex, ARunHasABound) {
  std::vector<ChunkExtent> extents;
  for (std::uint64_t id = 1; id <= kMaxChunksPerExtent + 1; ++id)
    append_to_extents(extents, {.id = ChunkId{id}, .raw_length = 1, .payload_length = 1});
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_TRUE(decode_extent(encode_extent_key(extents[0].first), encode_extent(extents[0])));

  extents[0].chunks.push_back({.raw_length = 1});
  EXPECT_FALSE(decode_extent(encode_extent_key(extents[0].first), encode_extent(extents[0])));
}

// As deltas and their sources do, when they move in the order in which a reader needs them.
TEST(ChunkIndex, ChunksOfSomeStreamsThatTakeTurnsFormARunForEach) {
  std::vector<ChunkExtent> extents;
  for (std::uint64_t i = 0; i < 5; ++i)
    for (const std::uint64_t stream : {100U, 200U, 300U})
      EXPECT_EQ(append_to_extents(extents, {.id = ChunkId{stream + i}, .raw_length = 1, .payload_length = 1}),
                stream / 100 - 1);
  ASSERT_EQ(extents.size(), 3U);
  for (std::size_t stream = 0; stream < 3; ++stream) {
    EXPECT_EQ(number_of(extents[stream].first), 100 * (stream + 1));
    EXPECT_EQ(extents[stream].chunks.size(), 5U);
  }
}

TEST(ChunkIndex, WhatWasAppendedLastIsTakenBackWhereverItWent) {
  std::vector<ChunkExtent> extents;
  append_to_extents(extents, {.id = ChunkId{10}, .raw_length = 1, .payload_length = 1});
  append_to_extents(extents, {.id = ChunkId{20}, .raw_length = 2, .payload_length = 2});
  const std::vector<ChunkExtent> before = extents;

  drop_last(extents, append_to_extents(extents, {.id = ChunkId{11}, .raw_length = 3, .payload_length = 3}));
  EXPECT_EQ(extents, before);
  drop_last(extents, append_to_extents(extents, {.id = ChunkId{30}, .raw_length = 3, .payload_length = 3}));
  EXPECT_EQ(extents, before);
}

TEST(ChunkIndex, RunOfPlainChunksCostsFewBytesAChunk) {
  ChunkExtent extent;
  extent.chunks.assign(32, {.raw_length = 8000});

  EXPECT_LE(encode_extent(extent).size(), 32 * 2 + 5u);
}

TEST(ChunkIndex, KeysSortAsNumbersDo) {
  EXPECT_LT(encode_extent_key(ChunkId{255}), encode_extent_key(ChunkId{256}));
  EXPECT_LT(encode_extent_key(ChunkId{256}), encode_extent_key(ChunkId{std::numeric_limits<std::uint64_t>::max()}));
}

TEST(ChunkIndex, RunContainsItsIdsOnly) {
  const ChunkExtent extent = sample_extent();

  EXPECT_FALSE(extent.contains(ChunkId{999'999}));
  EXPECT_TRUE(extent.contains(ChunkId{1'000'000}));
  EXPECT_TRUE(extent.contains(ChunkId{1'000'003}));
  EXPECT_FALSE(extent.contains(ChunkId{1'000'004}));
}

TEST(ChunkIndex, EntryThatDoesNotParseNamesItsKey) {
  const std::string key = encode_extent_key(ChunkId{1'000'000});

  const auto decoded = decode_extent(key, "\xff");

  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(decoded.error().message(), HasSubstr("1000000"));
  EXPECT_FALSE(decode_extent("short", encode_extent(sample_extent())));
}

TEST(ChunkIndex, TruncatedRunIsRejectedOrLosesDeltasOnly) {
  const ChunkExtent extent = sample_extent();
  const std::string value = encode_extent(extent);
  for (std::size_t length = 0; length < value.size(); ++length) {
    const auto decoded = decode_extent(encode_extent_key(extent.first), std::string_view(value).substr(0, length));

    EXPECT_TRUE(!decoded || decoded->chunks.size() == extent.chunks.size());
  }
}

TEST(ChunkIndex, HostileRunsAreRejected) {
  const auto encoded = [](std::initializer_list<std::uint64_t> numbers) {
    std::string value;
    for (const std::uint64_t number : numbers) Encoder(value).varint(number);
    return value;
  };
  const std::string key = encode_extent_key(ChunkId{7});
  constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 32;
  ASSERT_TRUE(decode_extent(key, encoded({1, 64, 100, 100, 1, 50})));
  ASSERT_TRUE(decode_extent(key, encoded({1, 64, 100, 100, 1, 50, 0, 3, 2, 9})));
  EXPECT_FALSE(decode_extent(key, encoded({1, 64, 100, 100, 1, 50, 0, 3, 2, 0}))) << "a delta of no length";
  EXPECT_FALSE(decode_extent(key, encoded({1, 64, 100, 100, 1, 50, 0, 1, 2, 9}))) << "a delta without a source";

  EXPECT_FALSE(decode_extent(key, encoded({kTooLarge, 64, 100, 100, 1, 50})));
  EXPECT_FALSE(decode_extent(key, encoded({1, kTooLarge, 100, 100, 1, 50})));
  EXPECT_FALSE(decode_extent(key, encoded({1, 64, 100, 100, 0})));
  EXPECT_FALSE(decode_extent(key, encoded({1, 64, 100, 100, kTooLarge << 20, 50})));
  EXPECT_FALSE(decode_extent(key, encoded({1, 64, 100, 100, 1, 0})));
  EXPECT_FALSE(decode_extent(key, encoded({1, 64, 100, 100, 1, kMaxChunkBytes + 1})));
  EXPECT_FALSE(decode_extent(key, encoded({1, 64, 100, 100, 1, 50, 0, 3, 0, 9}))) << "a delta against itself";
  EXPECT_FALSE(decode_extent(key, encoded({1, 64, 100, 100, 1, 50, 1, 3, 2, 9}))) << "a delta behind the last chunk";
  EXPECT_FALSE(decode_extent(key, encoded({1, 64, 100, 100, 1, 50, 0, 3, 2, 9, 0, 3, 2, 9}))) << "one chunk twice";
  const std::string last_key = encode_extent_key(ChunkId{std::numeric_limits<std::uint64_t>::max()});
  EXPECT_FALSE(decode_extent(last_key, encoded({1, 64, 100, 100, 2, 50, 50})));
}

TEST(ChunkIndex, RandomBytesNeverCrashTheParser) {
  std::mt19937 generator(42);
  for (int round = 0; round < 20'000; ++round) {
    std::string value(generator() % 40, '\0');
    for (char& byte : value) byte = static_cast<char>(generator() % (round % 2 == 0 ? 256 : 8));

    const auto decoded = decode_extent(encode_extent_key(ChunkId{generator()}), value);

    EXPECT_TRUE(!decoded || !decoded->chunks.empty());
  }
}

TEST(ChunkIndex, ChunkIdsComeBackAsTheyWereEncoded) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, UINT64_MAX}) {
    const auto decoded = decode_chunk_id(encode_chunk_id(ChunkId{number}));

    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, ChunkId{number});
  }
  EXPECT_FALSE(decode_chunk_id(""));
  EXPECT_FALSE(decode_chunk_id("\x80"));
  EXPECT_FALSE(decode_chunk_id(std::string_view("\x01\x01")));
}

}  // namespace
}  // namespace dedupfs
