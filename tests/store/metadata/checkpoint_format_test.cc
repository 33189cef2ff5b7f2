#include "store/metadata/checkpoint_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <functional>

#include "base/coding.h"
#include "sample_region.h"
#include "store/format/format.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

// ---------------------------------------------------------------- header of the file

const CheckpointHeader kHeader{.number = 7, .volume = {1, 2, 3}, .created_unix_seconds = -5};

TEST(CheckpointFormat, AHeaderOutlivesBeingWrittenDown) {
  const std::string bytes = encode_checkpoint_header(kHeader);

  EXPECT_EQ(bytes.size(), kCheckpointHeaderBytes);
  EXPECT_EQ(decode_checkpoint_header(bytes_of(bytes)).value(), kHeader);
}

TEST(CheckpointFormat, AHeaderWithAnyBitFlippedIsRefused) {
  const std::string bytes = encode_checkpoint_header(kHeader);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_checkpoint_header(bytes_of(flipped))) << bit;
  }
}

// ---------------------------------------------------------------- blocks

struct Split {
  std::string header;
  std::string stored;
};
Split split(const std::string& block) {
  return {block.substr(0, kCheckpointBlockHeaderBytes), block.substr(kCheckpointBlockHeaderBytes)};
}

TEST(CheckpointFormat, TagsOfFamiliesAreTheirPlacesInTheOrderOfTheFormat) {
  EXPECT_EQ(tag_of(Family::kInodes), 1);
  EXPECT_EQ(tag_of(Family::kDirents), 2);
  EXPECT_EQ(tag_of(Family::kXattrs), 3);
  EXPECT_EQ(tag_of(Family::kRecipes), 4);
  EXPECT_EQ(tag_of(Family::kOrphans), 5);
  EXPECT_EQ(tag_of(Family::kCounters), 6);
  EXPECT_EQ(tag_of(Family::kSnapshots), 7);
  EXPECT_EQ(tag_of(Family::kBeforeImages), 8);
}

TEST(CheckpointFormat, ABlockIsStoredAsItIsUnlessThatIsShorter) {
  const std::string random(text_of(random_bytes(5000, 1)));
  for (const auto& [records, compressed] : {std::pair(std::string(5000, 'x'), true), std::pair(random, false)}) {
    const auto [header_bytes, stored] = split(encode_checkpoint_block(Family::kXattrs, records));

    const auto header = decode_checkpoint_block_header(bytes_of(header_bytes)).value();

    EXPECT_EQ(header.family, Family::kXattrs);
    EXPECT_EQ(header.compressed, compressed);
    EXPECT_EQ(header.raw_length, 5000u);
    EXPECT_EQ(header.stored_length, stored.size());
    EXPECT_EQ(text_of(decode_checkpoint_block(header, bytes_of(stored)).value()), records);
  }
}

TEST(CheckpointFormat, TheEndSaysHowManyBlocksCameBeforeIt) {
  const std::string end = encode_checkpoint_end(12'345);
  ASSERT_EQ(end.size(), kCheckpointBlockHeaderBytes);

  const auto header = decode_checkpoint_block_header(bytes_of(end)).value();

  EXPECT_EQ(header.family, std::nullopt);
  EXPECT_EQ(header.raw_length, 0u);
  EXPECT_EQ(header.checksum, 12'345u);
}

TEST(CheckpointFormat, ABlockWithAnyBitFlippedIsRefused) {
  for (const std::string& records : {std::string(100, 'x'), std::string("short")}) {
    const auto [header_bytes, stored] = split(encode_checkpoint_block(Family::kInodes, records));
    const auto header = decode_checkpoint_block_header(bytes_of(header_bytes)).value();
    for (std::size_t bit = 0; bit < 8 * header_bytes.size(); ++bit) {
      std::string flipped = header_bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      EXPECT_FALSE(decode_checkpoint_block_header(bytes_of(flipped))) << bit;
    }
    for (std::size_t bit = 0; bit < 8 * stored.size(); ++bit) {
      std::string flipped = stored;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      EXPECT_FALSE(decode_checkpoint_block(header, bytes_of(flipped))) << bit;
    }
    EXPECT_FALSE(decode_checkpoint_block(header, bytes_of(stored).first(stored.size() - 1)));
    EXPECT_FALSE(decode_checkpoint_block(header, bytes_of(stored + "x")));
  }
}

// Whoever writes a checkpoint by hand can make the checksums right.
class HandMadeBlockHeader : public testing::Test {
 protected:
  static std::string made(std::uint8_t tag, std::uint8_t encoding, std::uint32_t raw_length,
                          std::uint32_t stored_length) {
    std::string bytes;
    Encoder encoder(bytes);
    encoder.u8(tag);
    encoder.u8(encoding);
    encoder.u16(0);
    encoder.u32(raw_length);
    encoder.u32(stored_length);
    encoder.u32(0);
    encoder.u64(0);
    encoder.u64(XXH3_64bits(bytes.data(), bytes.size()));
    return bytes;
  }
  static bool is_taken(std::uint8_t tag, std::uint8_t encoding, std::uint32_t raw_length, std::uint32_t stored_length) {
    const auto header = decode_checkpoint_block_header(bytes_of(made(tag, encoding, raw_length, stored_length)));
    EXPECT_TRUE(header || header.error().code() == ErrorCode::kCorruption);
    return header.has_value();
  }
};

TEST_F(HandMadeBlockHeader, KindsThatThereAreNotAreRefused) {
  EXPECT_TRUE(is_taken(8, 1, 100, 50));
  EXPECT_FALSE(is_taken(9, 1, 100, 50));
  EXPECT_FALSE(is_taken(8, 2, 100, 50));
}

TEST_F(HandMadeBlockHeader, LengthsThatCannotBeAreRefused) {
  EXPECT_TRUE(is_taken(1, 1, kMaxCheckpointBlockBytes, 50));
  EXPECT_FALSE(is_taken(1, 1, kMaxCheckpointBlockBytes + 1, 50)) << "no memory is taken for it";
  EXPECT_FALSE(is_taken(1, 1, 100, 101)) << "longer than without compression";
  EXPECT_FALSE(is_taken(1, 0, 100, 99)) << "shorter without compression";
  EXPECT_TRUE(is_taken(1, 0, 100, 100));
  EXPECT_FALSE(is_taken(0, 0, 1, 1)) << "an end that has records";
  EXPECT_TRUE(is_taken(0, 0, 0, 0));
}

TEST_F(HandMadeBlockHeader, ACompressedBlockHasTheLengthThatItSays) {
  const auto [header_bytes, stored] = split(encode_checkpoint_block(Family::kInodes, std::string(5000, 'x')));
  auto header = decode_checkpoint_block_header(bytes_of(header_bytes)).value();
  for (const std::uint32_t said : {4999u, 5001u, 16u << 20}) {
    header.raw_length = said;
    EXPECT_FALSE(decode_checkpoint_block(header, bytes_of(stored))) << said;
  }
}

// ---------------------------------------------------------------- records

std::vector<KeyValue> records_in(const std::string& bytes, std::size_t limit = 100) {
  std::vector<KeyValue> records;
  const auto all = for_each_record(bytes_of(bytes), [&](std::string_view key, std::string_view value) {
    records.emplace_back(key, value);
    return records.size() < limit;
  });
  EXPECT_TRUE(all);
  EXPECT_EQ(*all, records.size() < limit) << "whether it came to the end";
  return records;
}

TEST(CheckpointRecords, KeysAndValuesMayBeAnyBytesOrNone) {
  const std::vector<KeyValue> records = {{"", ""}, {"key", std::string("\0\xff", 2)}, {std::string(300, 'k'), ""}};
  std::string bytes;
  for (const auto& [key, value] : records) append_record(bytes, key, value);

  EXPECT_EQ(records_in(bytes), records);
  EXPECT_EQ(records_in(bytes, 2).size(), 2u);
  EXPECT_TRUE(records_in("").empty());
}

TEST(CheckpointRecords, ARecordThatDoesNotEndInItsBlockIsRefused) {
  std::string bytes;
  append_record(bytes, "key", "value");
  const auto is_refused = [](const std::string& records) {
    const auto all = for_each_record(bytes_of(records), [](auto, auto) { return true; });
    return !all && all.error().code() == ErrorCode::kCorruption;
  };
  for (std::size_t length = 1; length < bytes.size(); ++length)
    EXPECT_TRUE(is_refused(bytes.substr(0, length))) << length;
  std::string endless;
  Encoder(endless).varint(~std::uint64_t{0});
  EXPECT_TRUE(is_refused(endless + "key"));
  EXPECT_TRUE(is_refused(std::string("\3key", 4) + endless));
}

// ---------------------------------------------------------------- names

TEST(CheckpointFormat, NamesAreNumbers) {
  EXPECT_EQ(checkpoint_name(7), "0000000007.checkpoint");
  EXPECT_EQ(parse_checkpoint_name("0000000007.checkpoint"), 7u);
  EXPECT_EQ(parse_checkpoint_name("7.checkpoint"), std::nullopt);
  EXPECT_EQ(parse_checkpoint_name("0000000007.container"), std::nullopt);
  EXPECT_EQ(parse_checkpoint_name("unfinished"), std::nullopt);
}

}  // namespace
}  // namespace dedupfs
