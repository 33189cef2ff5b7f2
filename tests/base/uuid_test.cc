#include "base/uuid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace dedupfs {
namespace {

TEST(Uuid, NewOnesAreOfVersionFourAndDiffer) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string uuid = make_uuid();
    EXPECT_THAT(uuid, testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

TEST(Uuid, OtherTextsAreNone) {
  EXPECT_TRUE(is_uuid("01234567-89ab-4cde-8f01-23456789abcd"));
  EXPECT_FALSE(is_uuid("01234567-89ab-4cde-8f01-23456789abc"));
  EXPECT_FALSE(is_uuid("01234567-89ab-4cde-8f01-23456789abcg"));
  EXPECT_FALSE(is_uuid("0123456789ab-4cde-8f01-23456789abcd-"));
  EXPECT_FALSE(is_uuid(""));
}

TEST(Uuid, BytesAreTheDigitsInTheirOrder) {
  const std::string uuid = "00010203-0405-0607-0809-0a0b0c0d0eff";
  const UuidBytes bytes = bytes_of_uuid(uuid);
  EXPECT_THAT(bytes, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255));
  EXPECT_EQ(uuid_of(bytes), uuid);
}

}  // namespace
}  // namespace dedupfs
