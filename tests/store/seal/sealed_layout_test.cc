#include "store/seal/sealed_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace dedupfs {
namespace {

TEST(SealedLayouts, HeadsCanBeReadBack) {
  EXPECT_EQ(decode_segment_head(encode_segment_head({.session = {7, 8}}))->session, (SessionId{7, 8}));
  const auto record = decode_record_head(encode_record_head({.bytes = 5, .offset = 9, .durable_end = 300}));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->bytes, 5u);
  EXPECT_EQ(record->offset, 9u);
  EXPECT_EQ(record->durable_end, 300u);
  const SealTrailer trailer = decode_seal_trailer(encode_seal_trailer({.map_place = 1, .map_bytes = 2, .size = 3}));
  EXPECT_EQ(trailer.map_place, 1u);
  EXPECT_EQ(trailer.map_bytes, 2u);
  EXPECT_EQ(trailer.size, 3u);
}

TEST(SealedLayouts, ImpossibleHeadsAreRefused) {
  EXPECT_FALSE(decode_record_head(encode_record_head({.bytes = 0})));
  EXPECT_FALSE(decode_record_head(encode_record_head({.bytes = kMaxRecordBytes + 1})));
  EXPECT_FALSE(decode_record_head(encode_record_head({.bytes = 2, .offset = INT64_MAX - 1})));
  EXPECT_FALSE(decode_record_head(encode_record_head({.kind = RecordHead::Kind::kTruncation, .bytes = 1})));
  EXPECT_FALSE(decode_record_head(HeadBytes{}));
  EXPECT_FALSE(decode_segment_head(HeadBytes{}));
}

TEST(SealedLayouts, EachPieceTakesATag) {
  EXPECT_EQ(sealed_bytes_of(0), 0u);
  EXPECT_EQ(sealed_bytes_of(1), 1u + kTagBytes);
  EXPECT_EQ(sealed_bytes_of(kPieceBytes), kPieceBytes + kTagBytes);
  EXPECT_EQ(sealed_bytes_of(kPieceBytes + 1), kPieceBytes + 1 + 2 * kTagBytes);
}

TEST(SealedLayouts, MapsCanBeReadBackAndDamagedOnesAreRefused) {
  SealedMap map;
  map.segments = {{.place = 0, .salt = {1}, .session = {3}, .key_number = 1},
                  {.place = 300, .salt = {2}, .session = {4}, .key_number = 300}};
  map.extents = {{.begin = 0, .end = 100, .record_bytes = 120, .place = 112},
                 {.begin = 100, .end = 150, .record_begin = 90, .record_bytes = 80, .segment = 1, .place = 400}};
  const std::string encoded = encode_sealed_map(map);
  const auto decoded = decode_sealed_map(bytes_of(encoded), 1000);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->segments, map.segments);
  EXPECT_EQ(decoded->extents, map.extents);
  EXPECT_FALSE(decode_sealed_map(bytes_of(encoded), 450)) << "a record reaches beyond the file";
  std::swap(map.segments[0].key_number, map.segments[1].key_number);
  EXPECT_FALSE(decode_sealed_map(bytes_of(encode_sealed_map(map)), 1000)) << "a former key behind a newer one";
  map.segments[0].key_number = 0;
  EXPECT_FALSE(decode_sealed_map(bytes_of(encode_sealed_map(map)), 1000));
  for (std::size_t length = 0; length < encoded.size(); ++length)
    EXPECT_FALSE(decode_sealed_map(bytes_of(encoded).first(length), 1000)) << length;
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {  // authenticated, but a mistake must not become a crash
    std::string changed = encoded;
    changed[random() % changed.size()] = static_cast<char>(random());
    const auto other = decode_sealed_map(bytes_of(changed), 1000);
    if (!other) continue;
    for (const SealedExtent& extent : other->extents) {
      EXPECT_LT(extent.begin, extent.end);
      EXPECT_LE(extent.end - extent.record_begin, extent.record_bytes);
      EXPECT_LT(extent.segment, other->segments.size());
    }
  }
}

}  // namespace
}  // namespace dedupfs
