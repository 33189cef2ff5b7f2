#include "index/table_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "support/memory_disk.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;

TEST(TableFormat, TablesHaveTheNamesThatRocksDbGivesThem) {
  EXPECT_TRUE(is_table("000012.sst"));
  EXPECT_TRUE(is_table("000012.ldb"));
  EXPECT_FALSE(is_table("000012.log"));
  EXPECT_FALSE(is_table("MANIFEST-000005"));
  EXPECT_FALSE(is_table("sst"));
}

TEST(TableFormat, ABlockLiesInATableWithItsTrailer) {
  EXPECT_TRUE(lies_within({0, 95}, 100));
  EXPECT_FALSE(lies_within({0, 96}, 100)) << "its trailer does not fit";
  EXPECT_TRUE(lies_within({90, 5}, 100));
  EXPECT_FALSE(lies_within({91, 5}, 100));
  EXPECT_FALSE(lies_within({101, 0}, 100));
  EXPECT_FALSE(lies_within({0, 0}, 4));
}

TEST(TableFormat, NoPlaceIsSoLargeThatItLiesInATableAgain) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{50}, kAll - 10, kAll})
    for (const std::uint64_t bytes : {kAll, kAll - 4, kAll - 5, kAll - offset})
      EXPECT_FALSE(lies_within({offset, bytes}, 100)) << offset << ", " << bytes;
}

TEST(TableFormat, AHandleIsTwoNumbers) {
  std::string encoded;
  Encoder(encoded).varint(300);
  Encoder(encoded).varint(40);
  Decoder decoder{std::string_view(encoded)};

  const BlockHandle handle = read_handle(decoder);

  EXPECT_TRUE(decoder.ok_at_end());
  EXPECT_EQ(handle.offset, 300u);
  EXPECT_EQ(handle.bytes, 40u);
  EXPECT_EQ(handle.end(), 345u);
  Decoder half(std::string_view(encoded).substr(0, 2));
  read_handle(half);
  EXPECT_FALSE(half.ok());
}

// ---------------------------------------------------------------- footer

class TableFooterTest : public testing::Test {
 protected:
  static std::string footer(std::uint32_t format = 5, std::uint64_t magic = 0x88e241b785f4cff7) {
    std::string bytes(1, '\4');
    Encoder encoder(bytes);
    for (const std::uint64_t number : {100u, 20u, 200u, 30u}) encoder.varint(number);
    bytes.resize(41);
    encoder.u32(format);
    encoder.u64(magic);
    return bytes;
  }
  Result<TableFooter> read(const std::string& table) {
    const auto file = disk_.open("/000007.sst", Backing::Mode::kOpenOrCreate).value();
    EXPECT_TRUE(file->truncate(0));
    EXPECT_TRUE(file->write(0, bytes_of(table)));
    return read_footer(*file, table.size());
  }

  MemoryDisk disk_;
};

TEST_F(TableFooterTest, SaysWhereTheOtherBlocksAre) {
  const auto found = read(std::string(500, 'x') + footer());

  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->checksum, 4);
  EXPECT_EQ(found->directory.offset, 100u);
  EXPECT_EQ(found->directory.bytes, 20u);
  EXPECT_EQ(found->index.offset, 200u);
  EXPECT_EQ(found->index.bytes, 30u);
  EXPECT_TRUE(read(footer())) << "a file of a footer alone";
}

TEST_F(TableFooterTest, FormatsThatDedupfsNeverHadAreRefused) {
  for (const std::uint32_t format : {2u, 3u, 4u, 5u}) EXPECT_TRUE(read(footer(format))) << format;
  for (const std::uint32_t format : {0u, 1u, 6u, ~0u}) {
    const auto found = read(footer(format));
    ASSERT_FALSE(found) << format;
    EXPECT_EQ(found.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(found.error().message(), HasSubstr("000007.sst"));
  }
}

TEST_F(TableFooterTest, OtherFilesAreNoTables) {
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read(footer().substr(1))) << "too short";
  EXPECT_FALSE(read(footer(5, 0x88e241b785f4cff6)));
  EXPECT_FALSE(read("\4" + std::string(40, '\xff') + footer().substr(41))) << "numbers without an end";
}

TEST_F(TableFooterTest, ADiskThatFailsIsNoDamage) {
  const auto file = disk_.open("/000007.sst", Backing::Mode::kOpenOrCreate).value();
  ASSERT_TRUE(file->write(0, bytes_of(footer())));
  disk_.set_fault([](std::string_view operation, const Path&) -> std::optional<MemoryDisk::Fault> {
    if (operation != "read") return std::nullopt;
    return MemoryDisk::Fault{Error{ErrorCode::kIo, "told to fail"}};
  });

  EXPECT_EQ(read_footer(*file, 53).error().code(), ErrorCode::kIo);
}

// ---------------------------------------------------------------- checksums

std::string with_checksum(std::string block, std::uint32_t checksum) {
  Encoder(block).u32(checksum);
  return block;
}

// The type of compression is in the checksum; here it is the 9 of the string that checksums are tested with.
TEST(TableChecksum, EachKindFitsWhatItIsOf) {
  const std::string block = "123456789";
  constexpr std::uint32_t kCrc = 0xe3069283;  // the check value of CRC-32C
  const std::uint32_t masked = ((kCrc >> 15) | (kCrc << 17)) + 0xa282ead8;

  EXPECT_TRUE(checksum_fits(1, bytes_of(with_checksum(block, masked))));
  EXPECT_FALSE(checksum_fits(1, bytes_of(with_checksum(block, kCrc)))) << "not masked";
  EXPECT_FALSE(checksum_fits(1, bytes_of(with_checksum("123456780", masked))));
  EXPECT_TRUE(checksum_fits(2, bytes_of(with_checksum(block, 0x937bad67)))) << "XXH32";
  EXPECT_TRUE(checksum_fits(3, bytes_of(with_checksum(block, 0x40e6ae83)))) << "XXH64, the lower half";
  for (const std::uint8_t kind : {std::uint8_t{2}, std::uint8_t{3}, std::uint8_t{4}})
    EXPECT_FALSE(checksum_fits(kind, bytes_of(with_checksum(block, masked))));
}

TEST(TableChecksum, AKindThatNobodyKnowsFits) {
  for (const std::uint8_t kind : {std::uint8_t{0}, std::uint8_t{5}, std::uint8_t{255}})
    EXPECT_TRUE(checksum_fits(kind, bytes_of(with_checksum("x", 0))));
}

}  // namespace
}  // namespace dedupfs
