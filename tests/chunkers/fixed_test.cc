#include <gtest/gtest.h>

#include "by_spec.h"

namespace dedupfs {
namespace {

TEST(Fixed, BlocksHaveOneSizeButForTheLast) {
  EXPECT_EQ(cuts_of("fixed:size=100", ByteBuffer(250, 7)), (Ends{100, 200, 250}));
  EXPECT_EQ(cuts_of("fixed:size=100", ByteBuffer(200, 7)), (Ends{100, 200}));
  EXPECT_EQ(cuts_of("fixed:size=100", ByteBuffer(99, 7)), Ends{99});
}

TEST(Fixed, TheContentDoesNotMatter) {
  const Ends zeros = cuts_of("fixed:size=1000", ByteBuffer(50'500, 0));

  EXPECT_EQ(zeros.size(), 51u);
  EXPECT_EQ(cuts_of("fixed:size=1000", random_bytes(50'500, 1)), zeros);
}

// Other chunkers look at the byte behind a chunk.
TEST(Fixed, AWholeBlockIsCertainWithoutWhatFollowsIt) {
  const auto chunker = *make_chunker("fixed:size=100");
  Ends ends;

  EXPECT_EQ(chunker->split(ByteBuffer(200, 7), false, ends), 200u);
  EXPECT_EQ(chunker->split(ByteBuffer(199, 7), false, ends), 100u);
  EXPECT_EQ(chunker->split(ByteBuffer(99, 7), false, ends), 0u);

  EXPECT_EQ(ends, (Ends{100, 200, 100}));
}

TEST(Fixed, MinimumAndMaximumAreTheSize) {
  const ChunkSizes sizes = (*make_chunker("fixed:size=1000"))->sizes();

  EXPECT_EQ(sizes.min_bytes, 1000u);
  EXPECT_EQ(sizes.avg_bytes, 1000u);
  EXPECT_EQ(sizes.max_bytes, 1000u);
}

TEST(Fixed, NeedsNoInstructionSet) {
  for (const Isa isa : available_isas()) EXPECT_EQ((*make_chunker("fixed", isa))->isa(), "scalar");
}

TEST(Fixed, TheSizeIsGivenOnceAndInRange) {
  EXPECT_EQ(refusal_of("fixed:size=8k,avg=8k"), "chunker fixed: size and avg mean the same; give only one of them");
  EXPECT_EQ(refusal_of("fixed:size=2m"), "chunker fixed: size=2m is out of range (allowed: 64 to 1m)");
  EXPECT_EQ(refusal_of("fixed:size=63"), "chunker fixed: size=63 is out of range (allowed: 64 to 1m)");
  EXPECT_EQ(refusal_of("fixed:avg=2m"), "chunker fixed: avg=2m is out of range (allowed: 64 to 1m)");
  EXPECT_EQ(refusal_of("fixed:min=64"), "chunker fixed has no parameter 'min' (allowed: size, avg)");
}

}  // namespace
}  // namespace dedupfs
