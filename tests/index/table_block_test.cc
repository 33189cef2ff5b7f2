#include "index/table_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>

#include "base/coding.h"
#include "codec/zstd_codec.h"
#include "index/index_guard.h"

namespace dedupfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Entry {
  std::uint64_t shared;
  std::string rest;
  std::string value;
};

std::string block_of(const std::vector<Entry>& entries, const std::vector<std::uint32_t>& restarts) {
  std::string block;
  Encoder out(block);
  for (const Entry& entry : entries) {
    out.varint(entry.shared);
    out.varint(entry.rest.size());
    out.varint(entry.value.size());
    out.bytes(entry.rest + entry.value);
  }
  for (const std::uint32_t offset : restarts) out.u32(offset);
  out.u32(static_cast<std::uint32_t>(restarts.size()));
  return block;
}

Result<std::vector<std::string>> entries_of(const std::string& block, BlockValues values = BlockValues::kBytes) {
  std::vector<std::string> entries;
  DEDUPFS_TRY(read_entries(bytes_of(block), values, [&](const BlockEntry& entry) -> Result<void> {
    entries.push_back(std::string(entry.key) + "=" +
                      (values == BlockValues::kBytes
                           ? std::string(text_of(entry.value))
                           : std::to_string(entry.handle.offset) + "+" + std::to_string(entry.handle.bytes)));
    return {};
  }));
  return entries;
}

TEST(TableBlock, EntriesShareWhatTheirKeysBeginWith) {
  EXPECT_THAT(entries_of(block_of({{0, "apple", "1"}, {4, "y", ""}, {0, "b", "3"}}, {0, 13})).value(),
              ElementsAre("apple=1", "apply=", "b=3"));
}

TEST(TableBlock, PlacesOfBlocksAreWholeOrWhatIsNew) {
  std::string whole;
  Encoder(whole).varint(300);
  Encoder(whole).varint(40);
  EXPECT_THAT(entries_of(block_of({{0, "k", whole}}, {0}), BlockValues::kHandles).value(), ElementsAre("k=300+40"));

  std::string block;
  Encoder out(block);
  out.u8(0);
  out.u8(2);
  out.bytes("aa" + whole);
  out.u8(1);
  out.u8(1);
  out.bytes(std::string_view("b"));
  out.signed_varint(-10);
  out.u32(0);
  out.u32(1);
  EXPECT_THAT(entries_of(block, BlockValues::kHandleDeltas).value(), ElementsAre("aa=300+40", "ab=345+30"));
}

TEST(TableBlock, WhatWouldLeadASearchAstrayIsRefused) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"no end", "abc"},
      {"no restart point", block_of({{0, "a", "1"}}, {})},
      {"more restart points than bytes", std::string("\0\1\1ka\0\0\0\0\2\1\0\0", 13)},
      {"no entry", block_of({}, {0})},
      {"a restart point within an entry", block_of({{0, "apple", "1"}, {4, "y", ""}}, {0, 5})},
      {"a restart point at a part of a key", block_of({{0, "apple", "1"}, {4, "y", ""}}, {0, 9})},
      {"a restart point behind the end", block_of({{0, "apple", "1"}}, {0, 900})},
      {"restart points that go back", block_of({{0, "apple", "1"}, {0, "b", ""}}, {0, 9, 0})},
      {"no restart point at the beginning", block_of({{0, "apple", "1"}, {0, "b", ""}}, {9})},
      {"a key that shares more than there is", block_of({{0, "apple", "1"}, {6, "y", ""}}, {0})},
      {"a first key that shares", block_of({{1, "apple", "1"}}, {0})},
      {"a key beyond the end", std::string("\0\x7f\1ka", 5) + block_of({}, {0})},
      {"a value beyond the end", std::string("\0\1\x7fka", 5) + block_of({}, {0})},
      {"an index of hashes", std::string("\0\1\1ka\0\0\0\0\1\0\0\x80", 13)},
  };
  for (const auto& [what, block] : refused) EXPECT_FALSE(entries_of(block)) << what;
  EXPECT_FALSE(entries_of(block_of({{0, "k", "\xff"}}, {0}), BlockValues::kHandles)) << "a value that is no place";
}

std::string with_trailer(std::string block, TableCompression compression) {
  return block + static_cast<char>(compression) + "sum.";
}

TEST(TableBlock, ACompressedBlockHasTheLengthThatItSays) {
  const std::string content(5000, 'x');
  for (const auto compression : {TableCompression::kLz4, TableCompression::kZstd})
    for (const std::uint64_t said : {5000U, 4999U, 5001U, 50U << 20}) {
      std::string block;
      Encoder(block).varint(said);
      std::string frame(6000, '\0');
      frame.resize(compression == TableCompression::kLz4
                       ? static_cast<std::size_t>(::LZ4_compress_default(content.data(), frame.data(), 5000, 6000))
                       : zstd_codec()
                             .encode(bytes_of(content), {reinterpret_cast<std::uint8_t*>(frame.data()), 6000}, 6000, 3)
                             .value());
      const auto plain = decompress_block(bytes_of(with_trailer(block + frame, compression)));

      EXPECT_EQ(plain.has_value(), said == 5000) << said;
      EXPECT_TRUE(!plain || text_of(*plain) == content);
    }
  EXPECT_EQ(text_of(decompress_block(bytes_of(with_trailer("plain", TableCompression::kNone))).value()), "plain");
  EXPECT_FALSE(decompress_block(bytes_of(with_trailer("\5plain", TableCompression::kSnappy))));
}

TEST(TableBlock, AFilterHasWholeLines) {
  const auto sound = [](std::size_t bytes, char kind) {
    return is_sound_filter(bytes_of(std::string(bytes, 'f') + kind + std::string("\0\5\0\0", 4)));
  };
  EXPECT_TRUE(is_sound_filter({}));
  EXPECT_TRUE(sound(128, '\xff'));
  EXPECT_FALSE(sound(127, '\xff')) << "RocksDB would read beyond the end";
  EXPECT_TRUE(sound(48, '\xfe'));
  EXPECT_FALSE(sound(47, '\xfe'));
  EXPECT_FALSE(sound(64, 6)) << "of another RocksDB";
}

// ---------------------------------------------------------------- what is wrong is said

std::string flaw_of(const std::string& block, BlockValues values = BlockValues::kBytes) {
  const auto entries = entries_of(block, values);
  if (entries) return "none";
  EXPECT_EQ(entries.error().code(), ErrorCode::kCorruption);
  return entries.error().message();
}

TEST(TableBlock, FlawsAreNamedWithTheirPlaces) {
  EXPECT_THAT(flaw_of("abc"), HasSubstr("has no end"));
  EXPECT_THAT(flaw_of(block_of({{0, "a", "1"}}, {})), HasSubstr("says that it has 0 restart points"));
  EXPECT_THAT(flaw_of(block_of({}, {0})), HasSubstr("has no whole entry at 0"));
  EXPECT_THAT(flaw_of(block_of({{0, "apple", "1"}, {6, "y", ""}}, {0})),
              HasSubstr("has an entry at 9 whose key begins nowhere"));
  EXPECT_THAT(flaw_of(block_of({{0, "apple", "1"}}, {0, 900})), HasSubstr("has a restart point where no entry begins"));
  EXPECT_THAT(flaw_of(block_of({{0, "apple", "1"}, {0, "b", ""}}, {9})),
              HasSubstr("has no restart point at its beginning"));
  EXPECT_THAT(flaw_of(std::string("\0\1\x7fka", 5) + block_of({}, {0})),
              HasSubstr("has an entry at 0 that does not end in it"));
  EXPECT_THAT(flaw_of(block_of({{0, "k", "\xff"}}, {0}), BlockValues::kHandles),
              HasSubstr("has an entry at 0 that says no place"));
}

// The count of them is multiplied by four.
TEST(TableBlock, NoNumberOfRestartPointsIsBelieved) {
  for (const std::uint32_t count : {3U, 0x3fffffffU, 0x40000000U, 0x7fffffffU}) {
    std::string block = block_of({{0, "a", "1"}}, {});
    block.resize(block.size() - 4);
    Encoder(block).u32(count);
    EXPECT_THAT(flaw_of(block), HasSubstr("restart points")) << count;
  }
}

// The numbers in front of an entry may be longer than what is left, and larger than any memory.
TEST(TableBlock, NoLengthIsBelieved) {
  for (const std::uint64_t length : {std::uint64_t{1} << 31, std::uint64_t{1} << 32, ~std::uint64_t{0}})
    for (int field = 0; field < 3; ++field) {
      std::string block;
      for (int i = 0; i < 3; ++i) Encoder(block).varint(i == field ? length : 0);
      block += block_of({}, {0});
      EXPECT_NE(flaw_of(block), "none") << length << " as number " << field;
    }
  std::string endless(3, '\xff');  // a number that does not end in the block
  EXPECT_NE(flaw_of(endless + block_of({}, {0})), "none");
}

TEST(TableBlock, AHandleThatGoesOnFromNoneIsRefused) {
  std::string block;
  Encoder out(block);
  out.u8(1);  // shares with a key that is not there
  out.u8(1);
  out.bytes(std::string_view("b"));
  out.signed_varint(5);
  out.u32(0);
  out.u32(1);

  EXPECT_THAT(flaw_of(block, BlockValues::kHandleDeltas), HasSubstr("begins nowhere"));
}

// In memory of exactly its size, so that a sanitizer sees each read beyond it.
TEST(TableBlock, AnyByteMayBeWrong) {
  const std::string sound = block_of({{0, "apple", "1"}, {4, "y", "22"}, {0, "b", "3"}}, {0, 14});
  for (std::size_t at = 0; at < sound.size(); ++at)
    for (const unsigned value : {0x00U, 0x01U, 0x7fU, 0x80U, 0xffU}) {
      ByteBuffer block(sound.begin(), sound.end());
      block[at] = static_cast<std::uint8_t>(value);
      for (const auto values : {BlockValues::kBytes, BlockValues::kHandles, BlockValues::kHandleDeltas}) {
        std::size_t bytes = 0;
        (void)read_entries(block, values, [&](const BlockEntry& entry) -> Result<void> {
          bytes += entry.key.size() + entry.value.size();
          return {};
        });
        EXPECT_LE(bytes, 3 * block.size()) << at;
      }
    }
}

TEST(TableBlock, VisitingEndsWithItsFirstError) {
  int visits = 0;
  const std::string block = block_of({{0, "a", "1"}, {0, "b", "2"}, {0, "c", "3"}}, {0});

  const auto read = read_entries(bytes_of(block), BlockValues::kBytes, [&](const BlockEntry&) -> Result<void> {
    if (++visits == 2) return Error{ErrorCode::kInterrupted, "enough"};
    return {};
  });

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(visits, 2);
}

TEST(TableBlock, ABlockThatSaysMoreThanAnyIsNotDecompressed) {
  for (const std::uint64_t said : {std::uint64_t{kMaxBlockBytes} + 1, ~std::uint64_t{0}}) {
    std::string block;
    Encoder(block).varint(said);
    const auto plain = decompress_block(bytes_of(with_trailer(block + "frame", TableCompression::kZstd)));
    ASSERT_FALSE(plain);
    EXPECT_THAT(plain.error().message(), HasSubstr("says that it has " + std::to_string(said) + " bytes"));
  }
  EXPECT_FALSE(decompress_block(bytes_of(with_trailer("", TableCompression::kZstd)))) << "no length at all";
  EXPECT_FALSE(decompress_block(bytes_of(with_trailer("\5no frame", TableCompression::kLz4))));
}

}  // namespace
}  // namespace dedupfs
