#include "base/spec.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

using Values = std::map<std::string, std::uint64_t, std::less<>>;

TEST(Spec, NameAlone) {
  const auto spec = parse_spec("chunker", "gear");

  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "gear");
  EXPECT_EQ(spec->values, Values{});
}

TEST(Spec, ValuesAreSizes) {
  const auto spec = parse_spec("chunker", "vram:avg=8k,min=2048,max=1m");

  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "vram");
  EXPECT_EQ(spec->values, (Values{{"avg", 8192}, {"min", 2048}, {"max", 1 << 20}}));
}

TEST(Spec, RefusesWhatIsNoSpec) {
  for (const char* text : {"", ":", ":avg=8k", "gear:", "gear:avg", "gear:=8k", "gear:avg=", "gear:avg=8x",
                           "gear:avg=-1", "gear:avg=8k,", "gear:,avg=8k", "gear:avg=8k,,min=2k", "gear:avg=8k,avg=8k",
                           "gear:avg=99999999999999999999", "gear:avg= 8k", "gear:avg==8k"}) {
    const auto spec = parse_spec("chunker", text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code(), ErrorCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace dedupfs
