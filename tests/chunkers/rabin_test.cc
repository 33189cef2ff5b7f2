#include <gtest/gtest.h>

#include "by_spec.h"
#include "chunkers/kernels/rabin_table.h"
#include "definitions.h"

namespace dedupfs {
namespace {

TEST(RabinTables, AreResiduesOfThePolynomial) {
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(kRabinTables.reduce[i], rabin_residue(i)) << i;
    std::uint64_t left = i;
    for (std::size_t zeros = 0; zeros < kRabinWindowBytes; ++zeros)
      left = (left << 8) % (std::uint64_t{1} << kRabinDegree) ^ rabin_residue(left >> (kRabinDegree - 8));
    EXPECT_EQ(kRabinTables.out[i], left) << i;
  }
}

// Fingerprints are residues of windows, so these are known: of zeros 0, and of a 1 in front of n zero bytes 2^(8 n).
ByteBuffer window_of_zeros() {
  return ByteBuffer(48, 0);
}
ByteBuffer window_of_2_to_the_16() {
  ByteBuffer window(48, 0);
  window[45] = 1;
  return window;
}
// Bytes that ask for no cut at 16 bits or more, and do not end with a zero.
ByteBuffer noise(std::size_t n, std::uint64_t seed) {
  ByteBuffer bytes = random_bytes(n, seed);
  bytes.back() = 255;
  return bytes;
}

// ---------------------------------------------------------------- rabin

TEST(Rabin, ZerosAreCutAtEveryMinimum) {
  EXPECT_EQ(cuts_of("rabin:min=100,avg=1k,max=4k", ByteBuffer(250, 0)), (Ends{100, 200, 250}));
}

TEST(Rabin, TheMatchingByteEndsTheChunk) {
  const ByteBuffer data = joined({noise(300, 1), window_of_zeros(), noise(100, 2)});

  EXPECT_EQ(cuts_of("rabin:min=64,avg=1m,max=1m", data), (Ends{348, 448}));
}

TEST(Rabin, OneZeroLessIsNoCut) {
  const ByteBuffer data = joined({noise(300, 1), ByteBuffer(47, 0), {1}, noise(100, 2)});

  EXPECT_EQ(cuts_of("rabin:min=64,avg=1m,max=1m", data), Ends{448});
}

TEST(Rabin, AllLowBitsCountAndNoOthers) {
  const ByteBuffer data = joined({noise(300, 1), window_of_2_to_the_16(), noise(100, 2)});

  EXPECT_EQ(cuts_of("rabin:min=64,avg=64k,max=1m", data), (Ends{348, 448}));
  EXPECT_EQ(cuts_of("rabin:min=64,avg=128k,max=1m", data), Ends{448});
}

TEST(Rabin, MatchesInFrontOfTheMinimumDoNotCount) {
  const ByteBuffer data = joined({noise(300, 1), window_of_zeros(), noise(100, 2)});

  EXPECT_EQ(cuts_of("rabin:min=348,avg=1m,max=1m", data), (Ends{348, 448}));
  EXPECT_EQ(cuts_of("rabin:min=349,avg=1m,max=1m", data), Ends{448});
}

TEST(Rabin, EndsAtTheMaximumWithoutAMatch) {
  EXPECT_EQ(cuts_of("rabin:min=64,avg=128k,max=128k", ByteBuffer(300'000, 1)), (Ends{131'072, 262'144, 300'000}));
}

TEST(Rabin, TheLast48BytesDecide) {
  const std::string spec = "rabin:min=64,avg=1k,max=64k";
  const ByteBuffer data = random_bytes(200'000, 3);
  const Ends ends = cuts_of(spec, data);
  ASSERT_GT(ends.size(), 100u);

  for (std::size_t i = 0; i < 50; ++i) {
    const auto end = data.begin() + static_cast<std::ptrdiff_t>(ends[i]);
    EXPECT_EQ(first_cut_of(spec, joined({random_bytes(16, i), {end - 48, end}, ByteBuffer(200, 1)})), 64u) << i;
  }
}

// ---------------------------------------------------------------- tttd

// The fingerprint starts again at the minimum, as that of a byte 1: that of 1 0 is 2^8, and that of 1 0 0 is 2^16.
TEST(Tttd, ZerosAreCutAsSoonAsThe1HasLeftTheLowBits) {
  EXPECT_EQ(cuts_of("tttd:min=100,avg=256,max=4k", ByteBuffer(250, 0)), (Ends{100, 200, 250}));
  EXPECT_EQ(cuts_of("tttd:min=100,avg=64k,max=64k", ByteBuffer(250, 0)), (Ends{101, 202, 250}));
}

TEST(Tttd, TheMatchingByteBeginsTheNextChunk) {
  const ByteBuffer data = joined({noise(300, 1), window_of_zeros(), noise(100, 2)});

  EXPECT_EQ(cuts_of("tttd:min=64,avg=1m,max=1m", data), (Ends{347, 448}));
}

TEST(Tttd, TheLastBackupEndsAChunkWithoutAMatch) {
  const ByteBuffer one = joined({noise(300, 1), window_of_2_to_the_16(), noise(100, 2)});
  const ByteBuffer two = joined({one, window_of_2_to_the_16(), noise(100, 3)});

  EXPECT_EQ(first_cut_of("tttd:min=64,avg=128k,max=1m", one), 347u) << "16 bits are enough for a backup";
  EXPECT_EQ(first_cut_of("tttd:min=64,avg=128k,max=1m", two), 495u) << "the last one";
  EXPECT_EQ(cuts_of("tttd:min=64,avg=256k,max=1m", two), Ends{two.size()}) << "17 bits would be needed";
}

TEST(Tttd, AMatchBehindABackupWins) {
  const ByteBuffer data = joined({noise(300, 1), window_of_2_to_the_16(), noise(100, 2), window_of_zeros(),
                                  noise(100, 3), window_of_2_to_the_16(), noise(100, 4)});

  EXPECT_EQ(first_cut_of("tttd:min=64,avg=128k,max=1m", data), 495u);
}

// Right behind the minimum, fingerprints of less than a window have matches of their own.
TEST(Tttd, ABackupCanLieRightBehindTheMinimum) {
  ByteBuffer data = noise(400, 1);
  data[64] = data[65] = 0;

  EXPECT_EQ(cuts_of("tttd:min=64,avg=128k,max=1m", data), (Ends{65, 400}));
}

TEST(Tttd, ABackupIsNotCertainBeforeTheMaximum) {
  const ByteBuffer data = joined({noise(300, 1), window_of_2_to_the_16(), noise(100, 2)});
  Ends ends;

  EXPECT_EQ((*make_chunker("tttd:min=64,avg=128k,max=1m"))->split(data, false, ends), 0u);
  EXPECT_TRUE(ends.empty());
}

TEST(Tttd, FewerChunksThanOfRabinEndAtTheMaximum) {
  const ByteBuffer data = random_bytes(4'000'000, 5);
  const auto at_maximum = [&](std::string_view spec) {
    std::size_t count = 0, start = 0;
    for (const std::size_t end : cuts(**make_chunker(spec), data)) count += end - std::exchange(start, end) == 6144;
    return count;
  };

  EXPECT_GT(at_maximum("rabin:avg=4k,max=6k"), 2 * at_maximum("tttd:avg=4k,max=6k"));
}

TEST(Rabin, TheAverageIsAPowerOfTwo) {
  for (const std::string name : {"rabin", "tttd"}) {
    EXPECT_EQ(refusal_of(name + ":avg=3k"),
              "chunker " + name + ": avg=3k is not allowed (powers of two from 64 to 1m)");
    EXPECT_EQ(refusal_of(name + ":window=64"),
              "chunker " + name + " has no parameter 'window' (allowed: min, avg, max)");
  }
}

}  // namespace
}  // namespace dedupfs
