#include "base/size.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

TEST(Size, ReadsUnitsOfEitherCase) {
  EXPECT_EQ(*parse_size("0"), 0U);
  EXPECT_EQ(*parse_size("8k"), 8192U);
  EXPECT_EQ(*parse_size("8K"), 8192U);
  EXPECT_EQ(*parse_size("3m"), 3U << 20);
  EXPECT_EQ(*parse_size("2g"), std::uint64_t{2} << 30);
  EXPECT_EQ(*parse_size("1t"), std::uint64_t{1} << 40);
}

TEST(Size, NamesWhatIsNoSize) {
  for (const char* text : {"", "k", "-1", "1.5k", "8kb", "8 k", "0x10", "99999999999999999999", "20000000t"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(size.error().message().find(text), std::string::npos);
  }
}

TEST(Size, FormatsWhatItReadsBack) {
  for (const std::uint64_t bytes :
       {0ULL, 1ULL, 1000ULL, 1024ULL, 8192ULL, 65536ULL, 1ULL << 20, 3ULL << 30, 12345678ULL})
    EXPECT_EQ(*parse_size(format_size(bytes)), bytes);
  EXPECT_EQ(format_size(8192), "8k");
  EXPECT_EQ(format_size(1000), "1000");
}

TEST(Size, IsShortForPeople) {
  EXPECT_EQ(human_size(512), "512 B");
  EXPECT_EQ(human_size(1536), "1.50 KiB");
  EXPECT_EQ(human_size(std::uint64_t{5} << 30), "5.00 GiB");
}

}  // namespace
}  // namespace dedupfs
