#include "base/isa.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

TEST(Isa, ScalarIsAlwaysThereAndFirst) {
  const auto isas = available_isas();

  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::kScalar);
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
}

TEST(Isa, NamesAreReadBack) {
  for (const Isa isa :
       {Isa::kScalar, Isa::kSse41, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Gather, Isa::kNeon, Isa::kVsx}) {
    const auto parsed = parse_isa(name_of(isa));
    ASSERT_TRUE(parsed) << name_of(isa);
    EXPECT_EQ(*parsed, isa);
  }
}

TEST(Isa, UnknownNameListsTheKnownOnes) {
  const auto parsed = parse_isa("mmx");

  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(parsed.error().message().find("scalar, sse4.1, avx2, avx512"), std::string::npos)
      << parsed.error().message();
}

}  // namespace
}  // namespace dedupfs
