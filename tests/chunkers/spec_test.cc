#include "chunkers/spec.h"

#include <gtest/gtest.h>

namespace dedupfs {
namespace {

TEST(Spec, UnknownKeyListsTheAllowed) {
  const auto spec = parse_spec("chunker", "gear:average=8k");
  ASSERT_TRUE(spec);

  const auto checked = allow_only(*spec, {"min", "avg", "max"});

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message(), "chunker gear has no parameter 'average' (allowed: min, avg, max)");
}

ChunkSizes sizes_of(std::string_view text) {
  const auto sizes = sizes_from(*parse_spec("chunker", text));
  EXPECT_TRUE(sizes) << text;
  return sizes.value_or(ChunkSizes{});
}

TEST(ChunkerSizes, DefaultsFollowTheAverage) {
  EXPECT_EQ(format_sizes(sizes_of("x")), "min=4k,avg=16k,max=64k");
  EXPECT_EQ(format_sizes(sizes_of("x:avg=8k")), "min=2k,avg=8k,max=32k");
  EXPECT_EQ(format_sizes(sizes_of("x:avg=8k,max=9k")), "min=2k,avg=8k,max=9k");
}

TEST(ChunkerSizes, DefaultsStayWithinTheLimits) {
  EXPECT_EQ(format_sizes(sizes_of("x:avg=64")), "min=64,avg=64,max=256");
  EXPECT_EQ(format_sizes(sizes_of("x:avg=1m")), "min=256k,avg=1m,max=1m");
}

TEST(ChunkerSizes, RefusesWrongOrderAndRange) {
  for (const char* text : {"x:min=16k,avg=8k", "x:avg=8k,max=4k", "x:min=63", "x:avg=63", "x:max=2m", "x:avg=2m",
                           "x:max=0", "x:min=4294967360", "x:avg=16k,min=64k,max=64k"}) {
    const auto sizes = sizes_from(*parse_spec("chunker", text));
    ASSERT_FALSE(sizes) << text;
    EXPECT_EQ(sizes.error().code(), ErrorCode::kInvalidArgument) << text;
  }
}

TEST(ChunkerSizes, ErrorsSayWhatIsAllowed) {
  EXPECT_EQ(sizes_from(*parse_spec("chunker", "x:max=2m")).error().message(),
            "chunker x: max=2m is out of range (allowed: 64 to 1m)");
  EXPECT_EQ(sizes_from(*parse_spec("chunker", "x:min=16k,avg=8k")).error().message(),
            "chunker x: min=16k, avg=8k, max=32k break min <= avg <= max");
}

}  // namespace
}  // namespace dedupfs
