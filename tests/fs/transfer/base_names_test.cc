#include "fs/transfer/base_names.h"

#include <gtest/gtest.h>

#include <string>

namespace dedupfs::transfer {
namespace {

TEST(BaseNames, TakeNoMoreMemoryThanTheyMay) {
  BaseNames names;
  std::size_t bytes = 0;
  const auto name = [](std::size_t number) { return std::to_string(number) + std::string(200, 'x'); };
  std::size_t number = 0;
  for (; bytes + 300 < BaseNames::kMostBytes; ++number) {
    ASSERT_TRUE(names.add(name(number)));
    bytes += name(number).size() + BaseNames::kBytesBesideName;
  }
  for (std::size_t again = 0; again < 10; ++again) EXPECT_TRUE(names.add(name(0))) << "it is there";

  EXPECT_TRUE(names.all().contains(name(number - 1)));
  EXPECT_EQ(names.all().size(), number);
  EXPECT_EQ(names.add(std::string(1000, 'y')).error().code(), ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace dedupfs::transfer
