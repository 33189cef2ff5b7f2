#include "store/format/numbered_name.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace dedupfs {
namespace {

TEST(NumberedName, HasTenDigits) {
  EXPECT_EQ(numbered_name(7, ".container"), "0000000007.container");
  EXPECT_EQ(numbered_name(UINT32_MAX, ".container"), "4294967295.container");
}

TEST(NumberedName, IsReadBack) {
  for (const std::uint32_t number : {0u, 7u, UINT32_MAX})
    EXPECT_EQ(parse_numbered_name(numbered_name(number, ".x"), ".x"), number);
}

TEST(NumberedName, HasOneSpelling) {
  for (const char* const name : {"", ".x", "7.x", "000000007.x", "00000000007.x", "+000000007.x", "0000000007",
                                 "0000000007.y", "0000000007.x ", "4294967296.x", "00000000a7.x"})
    EXPECT_FALSE(parse_numbered_name(name, ".x")) << name;
}

TEST(PlainName, IsWhatTheProgramsMake) {
  for (const char* const name : {"0000000007.container", "MANIFEST-000004", "CURRENT", "000012.sst", "a_b"})
    EXPECT_TRUE(is_plain_name(name)) << name;
  for (const std::string& name : {std::string(), std::string(".hidden"), std::string("a b"), std::string("x~"),
                                  std::string("a/b"), std::string("a\0b", 3), std::string(201, 'x')})
    EXPECT_FALSE(is_plain_name(name)) << name;
}

}  // namespace
}  // namespace dedupfs
