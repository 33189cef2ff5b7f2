#include "chunkers/windowed.h"

#include <gtest/gtest.h>

#include "by_spec.h"

namespace dedupfs {
namespace {

// As RAM, with a window of half the average.
Result<std::unique_ptr<Chunker>> make_half_window(std::string_view spec) {
  const WindowedAlgorithm algorithm{"half", &simd::Kernels::ram, [](std::uint64_t avg) { return avg / 2; }};
  return make_windowed(algorithm, *parse_spec("chunker", spec), Isa::kScalar);
}

std::string half_window_spec(std::string_view spec) {
  const auto chunker = make_half_window(spec);
  return chunker ? (*chunker)->spec() : chunker.error().message();
}

TEST(Windowed, TheWindowFollowsFromTheAverageUnlessItIsGiven) {
  EXPECT_EQ(half_window_spec("half:avg=1k"), "half:min=512,avg=1k,max=4k,window=512");
  EXPECT_EQ(half_window_spec("half:avg=1k,window=100"), "half:min=100,avg=1k,max=4k,window=100");
}

TEST(Windowed, CutsWithTheKernelAndTheWindow) {
  const ByteBuffer data = random_bytes(100'000, 1);
  const auto chunker = *make_half_window("half:avg=1k,max=2k");

  EXPECT_EQ(cuts(*chunker, data), cuts(**make_chunker("ram:window=512,min=64,avg=1k,max=2k", Isa::kScalar), data));
  EXPECT_EQ(chunker->isa(), "scalar");
}

TEST(Windowed, TheMinimumIsTheWindowAsFarAsTheAverageAllows) {
  EXPECT_EQ(half_window_spec("half:avg=1k,window=2k"), "half:min=1k,avg=1k,max=4k,window=2k");
  EXPECT_EQ((*make_half_window("half:avg=1k,window=2k"))->sizes().min_bytes, 1024u);
}

TEST(Windowed, AMinimumBelowTheWindowIsKeptInTheSpecAndMovesNoBoundary) {
  const ByteBuffer data = random_bytes(1'000'000, 1);

  EXPECT_EQ(half_window_spec("half:min=64,avg=1k"), "half:min=64,avg=1k,max=4k,window=512");
  EXPECT_EQ(cuts_of("ram:avg=8k,min=2k,max=32k", data), cuts_of("ram:avg=8k,max=32k", data));
}

TEST(Windowed, AMinimumAboveTheWindowIsRefused) {
  EXPECT_EQ(half_window_spec("half:min=513,avg=1k"), "chunker half: min=513 is larger than window=512");
  EXPECT_EQ(refusal_of("vram:avg=8k,min=8k"), "chunker ram: min=8k is larger than window=7936");
}

TEST(Windowed, TheWindowIsAtLeast64BytesAndAtMostTheMaximum) {
  EXPECT_EQ(half_window_spec("half:avg=1k,window=63"), "chunker half: window=63 is out of range (allowed: 64 to 4k)");
  EXPECT_EQ(half_window_spec("half:avg=1k,window=4097"),
            "chunker half: window=4097 is out of range (allowed: 64 to 4k)");
  EXPECT_EQ(half_window_spec("half:avg=1k,window=4k"), "half:min=1k,avg=1k,max=4k,window=4k");
  EXPECT_EQ(refusal_of("vram:avg=8k,window=64k"), "chunker ram: window=64k is out of range (allowed: 64 to 32k)");
}

TEST(Windowed, AnAverageThatIsTooSmallForAWindowNeedsOne) {
  EXPECT_EQ(half_window_spec("half:avg=127"),
            "chunker half: avg=127 is too small for this algorithm (to use it all the same, set window)");
  EXPECT_EQ(half_window_spec("half:avg=127,window=64"), "half:min=64,avg=127,max=508,window=64");
  EXPECT_EQ(refusal_of("vram:avg=256"),
            "chunker ram: avg=256 is too small for this algorithm (to use it all the same, set window)");
}

TEST(Windowed, OtherParametersAreRefused) {
  EXPECT_EQ(half_window_spec("half:avg=1k,norm=1"),
            "chunker half has no parameter 'norm' (allowed: min, avg, max, window)");
}

}  // namespace
}  // namespace dedupfs
