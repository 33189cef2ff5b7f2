#include <gtest/gtest.h>

#include <bit>

#include "by_spec.h"

namespace dedupfs {
namespace {

constexpr const char* kTogaSpec = "toga:min=512,avg=1k,max=2k,limit=255";

// The hash of a byte is the exclusive or of its eight rotations where its column is constant: each bit meets each.
TEST(Toga, RunsOfOneByteAreCutAtEveryMinimumIfItsBitsAreOddInNumberElseAtEveryMaximum) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const Ends ends = cuts_of(kTogaSpec, ByteBuffer(4096, static_cast<std::uint8_t>(byte)));
    EXPECT_EQ(ends.front(), std::popcount(byte) % 2 == 1 ? 512u : 2048u) << byte;
    EXPECT_EQ(ends.size(), 4096 / ends.front()) << byte;
  }
}

// A row of 64 bytes 255 in zeros: hashes are 255 in its eight windows, and 0 elsewhere.
TEST(Toga, EndsBehindTheFirst64HashesInARowThatReachTheLimit) {
  const ByteBuffer data = joined({ByteBuffer(600, 0), ByteBuffer(64, 255), ByteBuffer(1000, 0)});

  EXPECT_EQ(cuts_of(kTogaSpec, data), (Ends{664, data.size()}));
}

TEST(Toga, SixtyThreeHashesAreNoRun) {
  const ByteBuffer data = joined({ByteBuffer(600, 0), ByteBuffer(63, 255), ByteBuffer(1000, 0)});

  EXPECT_EQ(cuts_of(kTogaSpec, data), Ends{data.size()});
}

TEST(Toga, HashesMustReachTheLimit) {
  const ByteBuffer data = joined({ByteBuffer(600, 0), ByteBuffer(64, 0x0f), ByteBuffer(1000, 0)});
  const std::string spec = "toga:min=512,avg=1k,max=2k,limit=";

  // The row itself has hashes 0x0f; in the row behind it that is rotated by one bit: 0x1e, then 0x3c, 0x78 and 0xf0.
  EXPECT_EQ(first_cut_of(spec + "15", data), 664u);
  EXPECT_EQ(first_cut_of(spec + "16", data), 728u);
  EXPECT_EQ(first_cut_of(spec + "240", data), 664u + 4 * 64);
  EXPECT_EQ(first_cut_of(spec + "241", data), data.size());
}

TEST(Toga, RunsInFrontOfTheMinimumDoNotCount) {
  const ByteBuffer data = joined({ByteBuffer(100, 0), ByteBuffer(64, 255), ByteBuffer(1000, 0)});

  // The window behind the row lasts until 100 + 8 * 64 = 612.
  EXPECT_EQ(first_cut_of(kTogaSpec, data), 512u);
  EXPECT_EQ(first_cut_of("toga:min=612,avg=1k,max=2k,limit=255", data), 612u);
  EXPECT_EQ(first_cut_of("toga:min=613,avg=1k,max=2k,limit=255", data), data.size());
}

// 64 hashes, the first of which looks back over eight rows.
TEST(Toga, TheLast512BytesDecide) {
  const std::string spec = "toga:min=512,avg=2k,max=64k";
  const ByteBuffer data = random_bytes(400'000, 1);
  const Ends ends = cuts_of(spec, data);
  ASSERT_GT(ends.size(), 100u);

  for (std::size_t i = 0; i < 50; ++i) {
    const auto end = data.begin() + static_cast<std::ptrdiff_t>(ends[i]);
    EXPECT_EQ(first_cut_of(spec, joined({{end - 512, end}, ByteBuffer(1000, 0)})), 512u) << i;
  }
}

TEST(Toga, TheLimitIsChosenForTheAverage) {
  const ByteBuffer data = random_bytes(8'000'000, 2);
  for (const std::uint32_t avg : {2048u, 8192u}) {
    const std::string spec = "toga:max=1m,avg=" + std::to_string(avg);
    EXPECT_NEAR(mean_chunk_bytes(spec, data), avg, 0.1 * avg);
  }
}

TEST(Toga, TheMinimumIsNoLessThanTheWindow) {
  EXPECT_EQ(full_spec_of("toga:avg=1k,limit=10"), "toga:min=512,avg=1k,max=4k,limit=10");
  EXPECT_EQ(refusal_of("toga:min=511,avg=1k"),
            "chunker toga: min=511 is smaller than the window of the hash (512 bytes)");
  EXPECT_EQ(refusal_of("toga:limit=0"), "chunker toga: limit=0 is out of range (allowed: 1 to 255)");
  EXPECT_EQ(refusal_of("toga:limit=256"), "chunker toga: limit=256 is out of range (allowed: 1 to 255)");
  EXPECT_EQ(refusal_of("toga:avg=8m"), "chunker toga: avg=8m is out of range (allowed: 64 to 1m)");
}

}  // namespace
}  // namespace dedupfs
