#include "store/format/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>

#include "base/coding.h"
#include "hex.h"
#include "sample_region.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

const Compression kUncompressed = Compression::none();

Result<Region> decode(ByteSpan bytes) {
  if (bytes.size() < kRegionHeaderBytes) return Error{ErrorCode::kCorruption, "too short"};
  DEDUPFS_ASSIGN(const RegionHeader header, decode_region_header(bytes.first(kRegionHeaderBytes)));
  if (bytes.size() != header.disk_length()) return Error{ErrorCode::kCorruption, "wrong length"};
  Region region;
  const ByteSpan directory = bytes.subspan(kRegionHeaderBytes, header.directory_length);
  DEDUPFS_ASSIGN(region.entries, decode_region_directory(header, directory));
  DEDUPFS_ASSIGN(region.payload, decode_region_payload(header, bytes.last(header.stored_length)));
  return region;
}

Result<Region> decode(const std::string& bytes) {
  return decode(bytes_of(bytes));
}

// A region that somebody made up: any header and directory, with checksums that are right.
struct ForgedRegion {
  std::uint64_t magic = kRegionMagic;
  std::uint16_t version = kRegionVersionWritten;
  std::uint8_t encoding = 0;
  std::uint32_t entries = 1;
  std::string directory;
  std::string stored = "0123456789";
  std::uint32_t payload_length = 10;
  std::optional<std::uint32_t> directory_length;
  std::optional<std::uint32_t> stored_length;

  std::string bytes() const {
    std::string out;
    Encoder encoder(out);
    encoder.u64(magic);
    encoder.u16(version);
    encoder.u8(encoding);
    encoder.u8(0);
    encoder.u32(entries);
    encoder.u32(directory_length.value_or(static_cast<std::uint32_t>(directory.size())));
    encoder.u32(payload_length);
    encoder.u32(stored_length.value_or(static_cast<std::uint32_t>(stored.size())));
    encoder.u32(0);
    encoder.u64(XXH3_64bits(directory.data(), directory.size()));
    encoder.u64(XXH3_64bits(stored.data(), stored.size()));
    encoder.u64(0);
    encoder.u64(XXH3_64bits(out.data(), out.size()));
    return out + directory + stored;
  }
};

std::string directory_entry(std::int64_t id_step, std::uint64_t raw_length) {
  std::string out;
  Encoder encoder(out);
  encoder.signed_varint(id_step);
  encoder.bytes(std::string(32, 'f'));
  encoder.varint(raw_length);
  encoder.u8(static_cast<std::uint8_t>(ChunkEncoding::kRaw));
  return out;
}

std::string delta_entry(std::int64_t id_step, std::uint64_t raw_length, std::int64_t base_distance,
                        std::uint64_t delta_length, std::uint64_t sources = 1, std::uint8_t depth = 1) {
  std::string out = directory_entry(id_step, raw_length);
  out.back() = static_cast<char>(ChunkEncoding::kDelta);
  Encoder encoder(out);
  encoder.varint(sources << 1 | 1);
  encoder.signed_varint(base_distance);
  encoder.u8(depth);
  encoder.u32(0x01020304);
  encoder.varint(delta_length);
  return out;
}

void expect_corrupt(const ForgedRegion& forged, const std::string& reason) {
  const auto region = decode(forged.bytes());
  ASSERT_FALSE(region) << reason;
  EXPECT_EQ(region.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(region.error().message(), HasSubstr(reason));
}

TEST(Region, ComesBackAsItWasEncoded) {
  const auto sample = SampleRegion()
                          .add(5, text_bytes(3000))
                          .add(7, random_bytes(100, 1))
                          .add_delta(6, 100, 8000, random_bytes(20, 2))
                          .add((std::uint64_t{1} << 62) - 1, text_bytes(1))
                          .add(1, text_bytes(50));

  for (const Compression& compression : {Compression{}, kUncompressed, Compression{.level = 19}}) {
    const auto region = decode(sample.encode(compression));

    ASSERT_TRUE(region) << region.error().message();
    EXPECT_EQ(region->entries, sample.entries);
    EXPECT_TRUE(std::ranges::equal(region->payload, sample.payload));
  }
}

// docs/format.md, "Region": bytes that lie on disks already.
TEST(Region, IsWrittenAsEver) {
  const auto sample = SampleRegion().add(1000, {'a', 'l', 'p', 'h', 'a'}).add_delta(998, 1000, 300, {'d', 'l', 't'});
  const auto golden =
      "4444504352474e310100000002000000500000000800000008000000000000007fb48d3e1808e8795327474c051dccee"
      "00000000000000006f5716e0a693f9b5d00f595959595959595959595959595959595959595959595959595959595959"
      "59590500034b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4bac02010303010403020103"
      "616c706861646c74";

  EXPECT_EQ(hex(sample.encode(kUncompressed)), golden);
  EXPECT_EQ(hex(encode_gap_header(5000)),
            "4444504352474e3101000000000000000000000048130000481300000000000000000000000000000000000000000000"
            "0000000000000000db1a829fe0d60b08");
}

TEST(Region, GivesThePayloadOfAChunkById) {
  Region region{one_chunk(3, 100).entries, {}};
  region.payload.assign(100, 7);

  EXPECT_EQ(region.find(ChunkId{2}), nullptr);
  EXPECT_EQ(region.find(ChunkId{4}), nullptr);
  ASSERT_NE(region.find(ChunkId{3}), nullptr);
  EXPECT_EQ(region.payload_of(*region.find(ChunkId{3})).size(), 100u);
}

TEST(Region, IsStoredRawWhereCompressionDoesNotPay) {
  for (const int level : {1, 3, 9}) {
    const auto random = one_chunk(1, 200'000).encode({.level = level});
    const auto text = SampleRegion().add(1, text_bytes(200'000)).encode({.level = level});

    EXPECT_LT(random.size(), 200'000 + 120);
    EXPECT_LT(text.size(), 1000u);
  }
}

TEST(Region, HeaderNamesTheCodecOfThePayload) {
  const auto encoding_of = [](const std::string& region) {
    return decode_region_header(bytes_of(region).first(kRegionHeaderBytes)).value().encoding;
  };
  const auto text = SampleRegion().add(1, text_bytes(10'000));

  EXPECT_EQ(encoding_of(text.encode()), default_codec().info().encoding);
  EXPECT_EQ(encoding_of(text.encode(kUncompressed)), PayloadEncoding::kRaw);
  EXPECT_EQ(encoding_of(one_chunk(1, 10'000).encode()), PayloadEncoding::kRaw);
}

TEST(Region, APayloadThatIsStoredRawIsCheckedWhereItLies) {
  const auto sample = SampleRegion().add(1, random_bytes(10'000, 1));
  const std::string bytes = sample.encode(kUncompressed);
  const auto header = decode_region_header(bytes_of(bytes).first(kRegionHeaderBytes)).value();
  Region region;
  std::ranges::copy(bytes_of(bytes), std::back_inserter(region.payload));
  region.payload_begin = static_cast<std::uint32_t>(bytes.size() - header.stored_length);

  ASSERT_TRUE(decode_region_payload_in_place(header, region));
  EXPECT_TRUE(std::ranges::equal(region.whole_payload(), sample.payload));

  region.payload.back() ^= 1;
  EXPECT_FALSE(decode_region_payload_in_place(header, region));
  region.payload.back() ^= 1;
  region.payload.pop_back();
  EXPECT_FALSE(decode_region_payload_in_place(header, region));
}

TEST(Region, ACompressedPayloadIsNotTakenForARawOne) {
  const std::string bytes = SampleRegion().add(1, text_bytes(10'000)).encode();
  const auto header = decode_region_header(bytes_of(bytes).first(kRegionHeaderBytes)).value();
  Region region;
  std::ranges::copy(bytes_of(bytes).last(header.stored_length), std::back_inserter(region.payload));

  EXPECT_FALSE(decode_region_payload_in_place(header, region));
}

TEST(Region, SavingLessThanASixteenthIsNoSaving) {
  ByteBuffer payload = random_bytes(160'000, 1);
  std::fill(payload.begin(), payload.begin() + 9'000, std::uint8_t{0});
  const auto little = SampleRegion().add(1, payload).encode();
  std::fill(payload.begin(), payload.begin() + 11'000, std::uint8_t{0});
  const auto enough = SampleRegion().add(1, payload).encode();

  EXPECT_GT(little.size(), 160'000u);
  EXPECT_LT(enough.size(), 150'000u);
}

TEST(Region, DirectoryCostsLittleMoreThanTheFingerprints) {
  SampleRegion sample;
  for (std::uint64_t id = 1'000'000'000; id < 1'000'000'032; ++id) sample.add(id, random_bytes(8192, id));

  EXPECT_LE(sample.encode().size(), 32 * (8192 + 32 + 4) + kRegionHeaderBytes + 8);
}

TEST(Region, EveryFlippedBitIsNoticed) {
  for (const Compression& compression : {Compression{}, kUncompressed}) {
    const std::string good =
        SampleRegion().add(1, text_bytes(300)).add_delta(2, 1, 9, text_bytes(40)).encode(compression);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));

      EXPECT_FALSE(decode(bad)) << "bit " << bit;
    }
  }
}

TEST(Region, EveryTruncationIsNoticed) {
  const std::string good = SampleRegion().add(1, text_bytes(300)).encode();

  for (std::size_t length = 0; length < good.size(); ++length) EXPECT_FALSE(decode(good.substr(0, length)));
}

TEST(Region, PartsOfTheWrongLengthAreRejected) {
  const std::string good = SampleRegion().add(1, text_bytes(300)).encode();
  const auto header = decode_region_header(bytes_of(good).first(kRegionHeaderBytes));
  ASSERT_TRUE(header);

  EXPECT_FALSE(decode_region_directory(*header, {}));
  EXPECT_FALSE(decode_region_payload(*header, {}));
  EXPECT_FALSE(verify_stored_payload(*header, bytes_of(good)));
}

TEST(Region, ForgedRegionWithNothingWrongIsRead) {
  const auto region = decode(ForgedRegion{.directory = directory_entry(5, 10)}.bytes());

  ASSERT_TRUE(region) << region.error().message();
  EXPECT_EQ(region->entries[0].id, ChunkId{5});
}

TEST(Region, HostileHeadersAreCorrupt) {
  const std::string directory = directory_entry(5, 10);
  constexpr std::uint32_t kHuge = std::numeric_limits<std::uint32_t>::max();

  expect_corrupt({.magic = 1, .directory = directory}, "no region starts here");
  expect_corrupt({.encoding = 9, .directory = directory}, "unknown encoding 9");
  expect_corrupt({.entries = 2, .directory = directory}, "more entries");
  expect_corrupt({.entries = kHuge, .directory = directory}, "more entries");
  expect_corrupt({.directory = directory, .payload_length = kHuge, .stored_length = kHuge}, "impossible length");
  expect_corrupt({.directory = directory, .directory_length = kHuge}, "impossible length");
  expect_corrupt({.directory = directory, .stored_length = kHuge}, "impossible length");
  expect_corrupt({.directory = directory, .payload_length = 11}, "two lengths");
}

TEST(Region, NewerVersionIsNamed) {
  const auto region = decode(ForgedRegion{.version = 7, .directory = directory_entry(5, 10)}.bytes());

  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code(), ErrorCode::kVersion);
  EXPECT_THAT(region.error().message(), HasSubstr("version 7"));
}

TEST(Region, HostileDirectoriesAreCorrupt) {
  expect_corrupt({.directory = directory_entry(5, 11)}, "longer than its payload");
  expect_corrupt({.directory = directory_entry(5, 9)}, "do not fill");
  expect_corrupt({.directory = directory_entry(5, 0) + "x"}, "impossible length");
  expect_corrupt({.directory = directory_entry(5, std::uint64_t{1} << 63)}, "impossible length");
  expect_corrupt({.directory = directory_entry(5, 10) + "x"}, "bytes follow");
  expect_corrupt({.directory = directory_entry(5, 10).substr(0, 34) + "\xff"}, "unknown encoding");
  expect_corrupt({.directory = std::string(100, '\xff')}, "cut off");
  expect_corrupt({.entries = 2, .directory = directory_entry(5, 5) + directory_entry(0, 5)}, "one id");
  expect_corrupt({.entries = 3, .directory = directory_entry(5, 5) + directory_entry(1, 3) + directory_entry(-1, 2)},
                 "one id");
  expect_corrupt({.directory = delta_entry(5, 100, 0, 10)}, "impossible sources");
  expect_corrupt({.directory = delta_entry(5, 100, 3, 10, 4)}, "impossible sources");  // of chunks 2 to 5, itself
  expect_corrupt({.directory = delta_entry(5, 100, 1, 10, 0)}, "impossible sources");
  expect_corrupt({.directory = delta_entry(5, 100, 20, 10, kMaxDeltaSources + 1)}, "impossible sources");
  expect_corrupt({.directory = delta_entry(5, 100, 1, 10, std::uint64_t{1} << 62)}, "impossible sources");
  expect_corrupt({.directory = delta_entry(5, 100, 1, 10, 1, 0)}, "impossible depth");
  expect_corrupt({.directory = delta_entry(5, 100, 1, 10, 1, kDeepestDelta + 1)}, "impossible depth");
  expect_corrupt({.directory = delta_entry(5, 100, 1, 0)}, "impossible length");
  expect_corrupt({.directory = delta_entry(5, kMaxDeltaChunkBytes + 1, 1, 10)}, "impossible length");
}

TEST(Region, HostileCompressedPayloadsAreCorrupt) {
  const auto zstd = [](std::size_t bytes) {
    const std::string text(bytes, 'x');
    std::string frame(ZSTD_compressBound(bytes), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), 1));
    return frame;
  };
  const ForgedRegion good{
      .encoding = 1, .directory = directory_entry(5, 1000), .stored = zstd(1000), .payload_length = 1000};
  ASSERT_TRUE(decode(good.bytes()));

  ForgedRegion other_size = good;
  other_size.stored = zstd(1'000'000'000 / 100);
  expect_corrupt(other_size, "another length");
  ForgedRegion no_frame = good;
  no_frame.stored = "this is no zstd frame";
  expect_corrupt(no_frame, "another length");
  ForgedRegion cut_off = good;
  cut_off.stored.pop_back();
  expect_corrupt(cut_off, "zstd");
}

TEST(Region, AGapIsAHeaderAlone) {
  for (const std::uint64_t length : {std::uint64_t{64}, std::uint64_t{100}, std::uint64_t{5} << 20}) {
    const std::string gap = encode_gap_header(length);

    const auto header = decode_region_header(bytes_of(gap));

    ASSERT_TRUE(header) << header.error().message();
    EXPECT_TRUE(header->is_gap());
    EXPECT_EQ(header->disk_length(), length);
    EXPECT_FALSE(decode_region_directory(*header, {}));
  }
}

}  // namespace
}  // namespace dedupfs
