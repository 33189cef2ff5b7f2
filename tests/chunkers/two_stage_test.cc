#include "chunkers/two_stage.h"

#include <gtest/gtest.h>

#include "../guarded_bytes.h"
#include "test_data.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMinBytes = 512;
constexpr std::size_t kMaxBytes = 2000;

// A byte is a candidate if it is the same as the one as far in front of it as a hash may look back. The bits that it is asked for
// are counted.
std::size_t bytes_marked;
void mark_repeated(const std::uint8_t* p, std::size_t n, std::uint64_t mask, std::uint64_t* bits) {
  bytes_marked += n;
  std::fill_n(bits, (n + 63) / 64, 0);
  for (std::size_t i = 0; i < n; ++i)
    if (((p[i] ^ p[static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(simd::kTogaLookBackBytes)]) & mask) ==
        0)
      bits[i / 64] |= std::uint64_t{1} << (i % 64);
}

// The candidate begins the next chunk.
class RepeatChunker final : public TwoStageChunker {
 public:
  explicit RepeatChunker(std::size_t block_bytes) : block_bytes_(block_bytes) {}

  ChunkSizes sizes() const override { return {kMinBytes, kMinBytes, kMaxBytes}; }
  std::string spec() const override { return "repeat"; }
  std::string_view isa() const override { return "scalar"; }

 private:
  CandidateMarker marker() const override { return {mark_repeated, 0xff, block_bytes_}; }
  std::size_t find_cut(Candidates& candidates, ByteSpan, std::size_t start, std::size_t n, bool) const override {
    if (n <= kMinBytes) return 0;
    const std::size_t found = candidates.first(start + kMinBytes, start + n);
    return found < start + n ? found - start : 0;
  }

  const std::size_t block_bytes_;
};

Ends defined_repeats(ByteSpan data) {
  Ends ends;
  for (std::size_t start = 0; start < data.size(); start = ends.back()) {
    const std::size_t end = std::min(data.size(), start + kMaxBytes);
    std::size_t i = start + kMinBytes;
    while (i < end && data[i] != data[i - simd::kTogaLookBackBytes]) ++i;
    ends.push_back(std::min(i, end));
  }
  return ends;
}

using Bits = std::vector<std::uint64_t>;

class TwoStageTest : public testing::Test {
 protected:
  Bits bits_of(ByteSpan data, std::size_t from, std::size_t to) const {
    Bits bits((to - from + 63) / 64, ~std::uint64_t{0});
    chunker_.mark(data, from, to, bits.data());
    return bits;
  }
  // Bits of the first 512 bytes are of no account: no cut lies there.
  static bool has(const Bits& bits, std::size_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }

  const RepeatChunker chunker_{1024};
  const ByteBuffer data_ = random_bytes(50'000, 1);
};

TEST_F(TwoStageTest, CutsAsTheAlgorithmByteByByte) {
  const Ends ends = cuts(chunker_, data_);

  EXPECT_GT(ends.size(), 50u);
  EXPECT_EQ(ends, defined_repeats(data_));
}

TEST_F(TwoStageTest, TheFirstStageMarksWhatAsksForACut) {
  const Bits bits = bits_of(data_, 0, data_.size());

  for (std::size_t i = kMinBytes; i < data_.size(); ++i)
    ASSERT_EQ(has(bits, i), data_[i] == data_[i - simd::kTogaLookBackBytes]) << i;
}

TEST_F(TwoStageTest, TheFirstStageGivesTheSameInAnySegments) {
  const Bits whole = bits_of(data_, 0, data_.size());
  for (const std::size_t segment : {64u, 448u, 512u, 576u, 4096u}) {
    Bits bits;
    for (std::size_t from = 0; from < data_.size(); from += segment)
      for (const std::uint64_t word : bits_of(data_, from, std::min(from + segment, data_.size())))
        bits.push_back(word);
    ASSERT_EQ(bits.size(), whole.size()) << segment;
    for (std::size_t i = kMinBytes; i < data_.size(); ++i)
      ASSERT_EQ(has(bits, i), has(whole, i)) << segment << ": " << i;
  }
}

TEST_F(TwoStageTest, BitsBehindTheSegmentAreZero) {
  const ByteBuffer same(2000, 7);
  for (const std::size_t to : {1u, 63u, 65u, 500u, 512u, 513u, 1999u}) {
    const Bits bits = bits_of(same, 0, to);
    for (std::size_t i = to; i < 64 * bits.size(); ++i) ASSERT_FALSE(has(bits, i)) << to << ": " << i;
  }
  EXPECT_TRUE(bits_of(same, 640, 640).empty());
}

TEST_F(TwoStageTest, NothingInFrontOfTheDataIsReadAndNothingBehindIt) {
  const GuardedBytes memory;
  memory.fill(random_bytes(memory.size(), 2));
  const ByteSpan data(memory.begin(), memory.size());

  const Bits bits = bits_of(data, 0, data.size());
  Ends ends;
  chunker_.select(data, 0, bits.data(), true, ends);

  EXPECT_EQ(ends, cuts(chunker_, data));
}

TEST_F(TwoStageTest, TheSecondStageGoesOnAtTheStartOfAnyChunk) {
  const Bits bits = bits_of(data_, 0, data_.size());
  const Ends whole = cuts(chunker_, data_);
  for (const std::size_t i : {0ul, 1ul, whole.size() / 2, whole.size() - 1}) {
    Ends ends;
    EXPECT_EQ(chunker_.select(data_, whole[i], bits.data(), true, ends), data_.size());
    EXPECT_EQ(ends, Ends(whole.begin() + static_cast<std::ptrdiff_t>(i) + 1, whole.end()));
  }
}

TEST_F(TwoStageTest, TheSecondStageLeavesWhatIsNotCertain) {
  const Bits bits = bits_of(data_, 0, data_.size());
  const Ends whole = cuts(chunker_, data_);
  const std::size_t last_start = whole[whole.size() - 2];

  Ends ends;
  EXPECT_EQ(chunker_.select(data_, 0, bits.data(), false, ends), last_start);
  EXPECT_EQ(ends, Ends(whole.begin(), whole.end() - 1));
  ends.clear();
  EXPECT_EQ(chunker_.select(data_, last_start, bits.data(), false, ends), last_start);
  EXPECT_TRUE(ends.empty());
}

TEST_F(TwoStageTest, NoByteIsMarkedTwice) {
  bytes_marked = 0;
  cuts(chunker_, data_);

  EXPECT_LE(bytes_marked, data_.size());
}

TEST_F(TwoStageTest, WhatTheMinimumJumpsOverIsNotMarked) {
  const ByteBuffer same(100 * kMinBytes, 7);  // every byte is a candidate
  bytes_marked = 0;

  EXPECT_EQ(cuts(RepeatChunker(64), same).size(), 100u);

  EXPECT_LE(bytes_marked, 100u * 64);
}

}  // namespace
}  // namespace dedupfs
