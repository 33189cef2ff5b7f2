#include <gtest/gtest.h>

#include "chunkers/registry.h"
#include "test_data.h"

namespace dedupfs {
namespace {

Ends cuts_of(std::string_view spec, ByteSpan data) {
  return cuts(**make_chunker(spec), data);
}

TEST(Ram, EndsInFrontOfTheFirstByteThatIsNotBelowTheMaximumOfTheWindow) {
  ByteBuffer data(1000, 1);
  data[30] = 9;   // the maximum of the window [0, 100)
  data[200] = 8;  // below
  data[300] = 9;  // as large as the maximum

  const Ends ends = cuts_of("ram:window=100,min=64,avg=400,max=600", data);

  ASSERT_FALSE(ends.empty());
  EXPECT_EQ(ends[0], 300u);
}

TEST(Ram, ConstantDataEndsAtTheWindow) {
  EXPECT_EQ(cuts_of("ram:window=100,avg=400,max=600", ByteBuffer(250, 7)), (Ends{100, 200, 250}));
}

TEST(Ram, FallingDataEndsAtTheMaximum) {
  ByteBuffer data(250);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(255 - i);

  EXPECT_EQ(cuts_of("ram:window=64,avg=70,max=100", data), (Ends{100, 200, 250}));
}

TEST(Ram, MinimumBelowTheWindowMovesNoBoundary) {
  const ByteBuffer data = random_bytes(1'000'000, 1);

  EXPECT_EQ(cuts_of("ram:avg=8k,min=2k,max=32k", data), cuts_of("ram:avg=8k,max=32k", data));
}

}  // namespace
}  // namespace dedupfs
