#include "hash/base64.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

// The examples of RFC 4648, section 10.
TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(base64_of(bytes_of("")), "");
  EXPECT_EQ(base64_of(bytes_of("f")), "Zg==");
  EXPECT_EQ(base64_of(bytes_of("fo")), "Zm8=");
  EXPECT_EQ(base64_of(bytes_of("foo")), "Zm9v");
  EXPECT_EQ(base64_of(bytes_of("foob")), "Zm9vYg==");
  EXPECT_EQ(base64_of(bytes_of("foobar")), "Zm9vYmFy");
}

}  // namespace
}  // namespace dedupfs
