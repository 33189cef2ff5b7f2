#include "fs/format/recipe_format.h"

#include <gtest/gtest.h>

#include <random>

#include "base/coding.h"
#include "chunkers/registry.h"
#include "recipe_entries.h"

namespace dedupfs {
namespace {

using Kind = RecipeEntry::Kind;

std::vector<RecipeEntry> sample_entries() {
  return {chunk(0, 1),
          chunk(UINT64_MAX, kMaxChunkBytesLimit),
          hole(1),
          chunk(1'000'000, 16'000),
          inlined(std::string(kInlineBytes, 'x')),
          chunk(1'000'001, 16'000),
          hole(kMaxFileBytes / 2)};
}

// The value of a segment, from its parts.
template <class Write>
std::string segment_of(Write write) {
  std::string value;
  Encoder out(value);
  out.u8(kSegmentVersion);
  write(out);
  return value;
}

void expect_corruption(const std::string& value) {
  const auto decoded = decode_segment(value);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
}

TEST(RecipeFormat, SegmentComesBackAsItWasEncoded) {
  const auto decoded = decode_segment(encode_segment(sample_entries()));

  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, sample_entries());
}

TEST(RecipeFormat, LongestHoleFits) {
  const auto decoded = decode_segment(encode_segment({hole(kMaxFileBytes)}));

  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->front().length, kMaxFileBytes);
}

TEST(RecipeFormat, BytesAreAsDocumented) {
  EXPECT_EQ(encode_segment({chunk(7, 100), chunk(8, 3), hole(5), inlined("ab")}),
            std::string("\x01\x90\x03\x0c\x0c\x00\x0b\x0a"
                        "ab",
                        10));
}

TEST(RecipeFormat, ConsecutiveChunksCostFourBytesEach) {
  std::vector<RecipeEntry> entries;
  for (std::uint64_t id = 0; id < kSegmentEntries; ++id) entries.push_back(chunk(1'000'000 + id, 16'000 + id));

  EXPECT_LE(encode_segment(entries).size(), 4 * kSegmentEntries + 8);
}

TEST(RecipeFormat, LengthsOutOfRangeAreCorruption) {
  expect_corruption(segment_of([](Encoder& out) { out.varint(0 << 2), out.signed_varint(0); }));
  expect_corruption(segment_of([](Encoder& out) { out.varint(0 << 1 | 1); }));
  expect_corruption(segment_of([](Encoder& out) { out.varint(0 << 2 | 2); }));
  expect_corruption(segment_of(
      [](Encoder& out) { out.varint((std::uint64_t{kMaxChunkBytesLimit} + 1) << 2), out.signed_varint(0); }));
  expect_corruption(segment_of([](Encoder& out) {
    out.varint((std::uint64_t{kInlineBytes} + 1) << 2 | 2);
    out.bytes(std::string(kInlineBytes + 1, 'x'));
  }));
}

TEST(RecipeFormat, SumBeyondTheLargestFileIsCorruption) {
  expect_corruption(segment_of([](Encoder& out) {
    out.varint(kMaxFileBytes << 1 | 1);
    out.varint(1 << 1 | 1);
  }));
}

TEST(RecipeFormat, WrongNumberOfEntriesOrVersionIsCorruption) {
  expect_corruption("");
  expect_corruption(segment_of([](Encoder&) {}));
  expect_corruption(segment_of([](Encoder& out) {
    for (std::size_t i = 0; i <= kSegmentEntries; ++i) out.varint(1 << 1 | 1);
  }));
  std::string newer = encode_segment(sample_entries());
  newer[0] = 2;
  expect_corruption(newer);
}

TEST(RecipeFormat, TruncatedOrFlippedSegmentFailsOrEncodesAgain) {
  const std::string value = encode_segment(sample_entries());
  const auto expect_sane = [](const std::string& damaged) {
    const auto decoded = decode_segment(damaged);
    if (!decoded) {
      EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
      return;
    }
    const auto again = decode_segment(encode_segment(*decoded));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *decoded);
  };

  for (std::size_t size = 0; size < value.size(); ++size) expect_sane(value.substr(0, size));
  for (std::size_t bit = 0; bit < 8 * value.size(); ++bit) {
    std::string flipped = value;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    expect_sane(flipped);
  }
}

TEST(RecipeFormat, RandomSegmentsComeBack) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    std::vector<RecipeEntry> entries(1 + random() % kSegmentEntries);
    for (RecipeEntry& entry : entries) {
      switch (random() % 4) {
        case 0: entry = hole(1 + (random() & 0xffff'ffff'ffff) % (std::uint64_t{1} << random() % 48)); break;
        case 1: entry = inlined(std::string(1 + random() % kInlineBytes, 'i')); break;
        default: entry = chunk(random() >> random() % 64, 1 + random() % kMaxChunkBytesLimit); break;
      }
    }
    const auto decoded = decode_segment(encode_segment(entries));
    ASSERT_TRUE(decoded) << decoded.error().message();
    ASSERT_EQ(*decoded, entries);
  }
}

TEST(RecipeFormat, KeysComeBackAndSortByInodeThenOffset) {
  const auto key = decode_recipe_key(encode_recipe_key(7, 256));

  ASSERT_TRUE(key);
  EXPECT_EQ(key->inode, 7u);
  EXPECT_EQ(key->offset, 256u);
  EXPECT_LT(encode_recipe_key(7, 255), encode_recipe_key(7, 256));
  EXPECT_LT(encode_recipe_key(7, kMaxFileBytes), encode_recipe_key(8, 0));
}

TEST(RecipeFormat, KeyOfWrongSizeOrOffsetIsCorruption) {
  for (const std::string& key : {std::string(), encode_recipe_key(1, 0).substr(1), encode_recipe_key(1, 0) + "x",
                                 encode_recipe_key(1, kMaxFileBytes + 1)}) {
    const auto decoded = decode_recipe_key(key);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
  }
}

}  // namespace
}  // namespace dedupfs
