#include "store/format/container_format.h"

#include <gtest/gtest.h>

#include "hex.h"

namespace dedupfs {
namespace {

constexpr char kContainerUuid[] = "01234567-89ab-4cde-8f01-23456789abcd";

TEST(ContainerName, IsTenDigitsAndOneSpelling) {
  EXPECT_EQ(container_name(1), "0000000001.container");
  EXPECT_EQ(parse_container_name("4294967295.container"), 0xffffffffu);
  for (const char* bad : {"", ".container", "1.container", "+000000001.container", "0000000001",
                          "0000000001.containers", "4294967296.container", "99999999999999999999.container"})
    EXPECT_FALSE(parse_container_name(bad)) << bad;
}

// docs/format.md, "Container": bytes that lie on disks already.
TEST(ContainerFormat, HeaderAndTrailerAreWrittenAsEver) {
  EXPECT_EQ(hex(encode_container_header({7, *parse_uuid(kContainerUuid)})),
            "444450434e54523101000000070000000123456789ab4cde8f0123456789abcd00000000000000000000000000000000"
            "00000000000000005ff994ec9450905f");
  EXPECT_EQ(hex(encode_container_trailer({7, 3, 5000})),
            "4444504354524c3101000000070000000300000000000000881300000000000000000000000000000000000000000000"
            "00000000000000006f732f4200a35608");
}

TEST(ContainerFormat, EveryFlippedBitOfHeaderAndTrailerIsNoticed) {
  const std::string header = encode_container_header({7, *parse_uuid(kContainerUuid)});
  const std::string trailer = encode_container_trailer({7, 100, 5000});
  ASSERT_TRUE(decode_container_header(bytes_of(header)));
  ASSERT_TRUE(decode_container_trailer(bytes_of(trailer)));
  for (std::size_t bit = 0; bit < 8 * kContainerHeaderBytes; ++bit) {
    std::string bad_header = header;
    std::string bad_trailer = trailer;
    bad_header[bit / 8] = static_cast<char>(bad_header[bit / 8] ^ (1 << bit % 8));
    bad_trailer[bit / 8] = static_cast<char>(bad_trailer[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_container_header(bytes_of(bad_header)));
    EXPECT_FALSE(decode_container_trailer(bytes_of(bad_trailer)));
  }
  EXPECT_FALSE(parse_uuid("01234567-89ab-4cde-8f01-23456789abc"));
  EXPECT_FALSE(parse_uuid("0123456-+89ab-4cde-8f01-23456789abcd"));
}

TEST(ContainerFormat, HeaderAndTrailerAreReadAsTheyWereWritten) {
  const ContainerHeader header{7, *parse_uuid(kContainerUuid)};
  const ContainerTrailer trailer{4294967295u, 100, 5'000'000'000u};

  EXPECT_EQ(decode_container_header(bytes_of(encode_container_header(header))), header);
  EXPECT_EQ(decode_container_trailer(bytes_of(encode_container_trailer(trailer))), trailer);
  EXPECT_FALSE(decode_container_header(bytes_of(encode_container_trailer(trailer)))) << "one is not the other";
  EXPECT_FALSE(decode_container_trailer(bytes_of(encode_container_header(header))));
}

TEST(ContainerFormat, AUuidIsReadWithHyphensOrWithout) {
  EXPECT_EQ(*parse_uuid("0123456789ab4cde8f0123456789abcd"), *parse_uuid(kContainerUuid));
  EXPECT_EQ(parse_uuid(kContainerUuid)->front(), 0x01);
  EXPECT_EQ(parse_uuid(kContainerUuid)->back(), 0xcd);
  EXPECT_EQ(parse_uuid("").error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace dedupfs
