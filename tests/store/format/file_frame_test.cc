#include "store/format/file_frame.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

constexpr std::uint64_t kMagic = 0x1122334455667788;

std::string frame(std::uint16_t version = 2) {
  std::string bytes = begin_frame(kMagic, version);
  Encoder(bytes).u32(7);
  return end_frame(std::move(bytes));
}

Result<Decoder> opened(const std::string& bytes, std::uint64_t magic = kMagic) {
  return open_frame(bytes_of(bytes), magic, {.oldest = 2, .newest = 3}, "header");
}

TEST(FileFrame, HoldsItsFieldsIn64Bytes) {
  const std::string bytes = frame();

  ASSERT_EQ(bytes.size(), kFrameBytes);
  auto decoder = opened(bytes);
  ASSERT_TRUE(decoder);
  EXPECT_EQ(decoder->u32(), 7u);
}

TEST(FileFrame, RefusesAnotherMagicNumber) {
  EXPECT_EQ(opened(frame(), kMagic + 1).error().code(), ErrorCode::kCorruption);
}

TEST(FileFrame, NoticesEveryChangedBit) {
  for (std::size_t i = 0; i < 8 * kFrameBytes; ++i) {
    std::string bytes = frame();
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ 1 << i % 8);

    EXPECT_FALSE(opened(bytes)) << "bit " << i;
  }
}

TEST(FileFrame, ReadsTheVersionsThatItIsAskedFor) {
  EXPECT_EQ(opened(frame(1)).error().code(), ErrorCode::kVersion);
  EXPECT_TRUE(opened(frame(3)));
  EXPECT_EQ(opened(frame(4)).error().code(), ErrorCode::kVersion);
}

}  // namespace
}  // namespace dedupfs
