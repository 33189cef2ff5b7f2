#include "store/format/delta_sources.h"

#include <gtest/gtest.h>

#include <limits>

#include "hex.h"
#include "sample_store.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

using namespace std::string_view_literals;

constexpr ChunkId kChunk{100};

std::string encoded(ChunkId id, const std::vector<std::uint64_t>& sources) {
  std::string bytes;
  Encoder encoder(bytes);
  encode_delta_sources(encoder, id, sources_of(sources));
  return bytes;
}

DeltaSources decoded(ChunkId id, std::string_view bytes) {
  Decoder decoder(bytes);
  return decode_delta_sources(decoder, id);
}

TEST(DeltaSources, ComeBackInTheirOrder) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  for (const std::vector<std::uint64_t>& sources : {std::vector<std::uint64_t>{1},
                                                    {99},
                                                    {101},
                                                    {5, 6, 7},
                                                    {7, 6, 5},
                                                    {5, 5},
                                                    {1, 1000, 2},
                                                    {kLast, 0, 1},
                                                    {kLast - 1, kLast, 0},
                                                    {1, 2, 3, 4, 5, 6, 7, 9}}) {
    const std::string bytes = encoded(kChunk, sources);
    Decoder decoder(bytes);

    EXPECT_EQ(decode_delta_sources(decoder, kChunk), sources_of(sources));
    EXPECT_TRUE(decoder.ok_at_end());
  }
}

// docs/format.md, "Delta sources".
TEST(DeltaSources, AreWrittenAsEver) {
  EXPECT_EQ(hex(encoded(kChunk, {5, 6, 7})), "07be01");
  EXPECT_EQ(hex(encoded(kChunk, {99})), "0302");
  EXPECT_EQ(hex(encoded(kChunk, {99, 97, 102})), "0602030a");
}

TEST(DeltaSources, WhatCannotBeIsRefused) {
  EXPECT_TRUE(decoded(kChunk, "").empty()) << "nothing";
  EXPECT_TRUE(decoded(kChunk, "\x01\x02"sv).empty()) << "no source";
  EXPECT_TRUE(decoded(kChunk, "\x13\x02"sv).empty()) << "nine sources";
  EXPECT_TRUE(decoded(kChunk, "\x06\x02"sv).empty()) << "cut off";
  EXPECT_TRUE(decoded(kChunk, "\x03\x00"sv).empty()) << "the chunk itself";
  EXPECT_TRUE(decoded(kChunk, "\x07\x02"sv).empty()) << "the chunk itself among consecutive ones";
  EXPECT_TRUE(decoded(kChunk, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02"sv).empty()) << "a huge count";
}

}  // namespace
}  // namespace dedupfs
