#include "store/format/types.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

TEST(Fingerprint, IsWrittenAs64HexadecimalDigits) {
  Fingerprint fingerprint;
  fingerprint.bytes[0] = 0x0a;
  fingerprint.bytes[31] = 0xff;

  EXPECT_EQ(fingerprint.hex(), "0a" + std::string(60, '0') + "ff");
}

TEST(RegionPlace, IsOrderedByContainerAndThenByOffset) {
  EXPECT_LT((RegionPlace{1, 900}), (RegionPlace{2, 100}));
  EXPECT_LT((RegionPlace{2, 100}), (RegionPlace{2, 101}));
}

}  // namespace
}  // namespace dedupfs
