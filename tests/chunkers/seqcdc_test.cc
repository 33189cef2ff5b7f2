#include <gtest/gtest.h>

#include <numeric>

#include "by_spec.h"

namespace dedupfs {
namespace {

constexpr const char* kSeqCdcSpec = "seqcdc:min=64,avg=128,max=256,length=5,trigger=50,skip=256";

// 400 bytes of 100, with these from a place on.
ByteBuffer flat_with(std::size_t place, std::initializer_list<int> bytes) {
  ByteBuffer data(400, 100);
  std::ranges::copy(bytes, data.begin() + static_cast<std::ptrdiff_t>(place));
  return data;
}

TEST(SeqCdc, TheByteThatCompletesTheRunBeginsTheNextChunk) {
  EXPECT_EQ(first_cut_of(kSeqCdcSpec, flat_with(100, {101, 102, 103, 104, 105})), 104u);
  EXPECT_EQ(first_cut_of(kSeqCdcSpec, flat_with(100, {101, 102, 103, 104})), 256u) << "a run that is too short";
}

TEST(SeqCdc, EqualNeighboursNeitherLengthenNorBreakARun) {
  EXPECT_EQ(first_cut_of(kSeqCdcSpec, flat_with(100, {101, 101, 102, 102, 102, 103, 104, 104, 105})), 108u);
}

TEST(SeqCdc, AFallingPairBreaksARun) {
  EXPECT_EQ(first_cut_of(kSeqCdcSpec, flat_with(100, {101, 102, 103, 104, 103, 104, 105, 106, 107, 108})), 109u);
}

TEST(SeqCdc, RunsBeginAtTheMinimum) {
  ByteBuffer rising(200);
  std::iota(rising.begin(), rising.end(), std::uint8_t{0});

  EXPECT_EQ(cuts_of(kSeqCdcSpec, rising), (Ends{68, 136, 200}));
}

TEST(SeqCdc, WhatIsSkippedIsNotLookedAt) {
  const ByteBuffer data = flat_with(70, {99, 98, 99, 100, 101, 102, 103});  // two fall, five rise

  EXPECT_EQ(first_cut_of("seqcdc:min=64,avg=128,max=256,length=5,trigger=3,skip=10", data), 76u);
  EXPECT_EQ(first_cut_of("seqcdc:min=64,avg=128,max=256,length=5,trigger=2,skip=10", data), 256u);
  EXPECT_EQ(first_cut_of("seqcdc:min=64,avg=128,max=256,length=5,trigger=2,skip=0", data), 76u);
}

// The pair at 71 triggers, so bytes 72 to 81 are skipped.
TEST(SeqCdc, GoesOnBehindWhatIsSkippedWithTheByteInFrontOfIt) {
  ByteBuffer data = flat_with(70, {99, 98});
  for (std::size_t i = 81; i < 90; ++i) data[i] = static_cast<std::uint8_t>(120 + i);  // rises from 81 on

  EXPECT_EQ(first_cut_of("seqcdc:min=64,avg=128,max=256,length=5,trigger=2,skip=10", data), 86u);
}

TEST(SeqCdc, RisingPairsBetweenThemDoNotStopTheCountOfFallingOnes) {
  const ByteBuffer data = flat_with(70, {99, 100, 99, 101, 102, 103, 104, 105});

  EXPECT_EQ(first_cut_of("seqcdc:min=64,avg=128,max=256,length=5,trigger=2,skip=100", data), 256u);
  EXPECT_EQ(first_cut_of("seqcdc:min=64,avg=128,max=256,length=5,trigger=3,skip=100", data), 77u);
}

TEST(SeqCdc, ConstantDataEndsAtTheMaximum) {
  EXPECT_EQ(cuts_of(kSeqCdcSpec, ByteBuffer(600, 7)), (Ends{256, 512, 600}));
}

TEST(SeqCdc, DecreasingSequencesAreTheIncreasingOnesOfTheComplement) {
  const std::string increasing = "seqcdc:avg=1k,length=4,trigger=20,skip=100,mode=inc";
  const std::string decreasing = "seqcdc:avg=1k,length=4,trigger=20,skip=100,mode=dec";
  for (const auto& [name, data] : patterns(50'000, 1))
    EXPECT_EQ(cuts_of(decreasing, complement_of(data)), cuts_of(increasing, data)) << name;
}

TEST(SeqCdc, RefusesWhatKernelsCannotDo) {
  EXPECT_EQ(refusal_of("seqcdc:mode=up"), "chunker seqcdc: mode=up is not allowed (allowed: inc, dec)");
  EXPECT_EQ(refusal_of("seqcdc:length=0"), "chunker seqcdc: length=0 is out of range (allowed: 1 to 32)");
  EXPECT_EQ(refusal_of("seqcdc:length=33"), "chunker seqcdc: length=33 is out of range (allowed: 1 to 32)");
  EXPECT_EQ(refusal_of("seqcdc:trigger=0"), "chunker seqcdc: trigger=0 is out of range (allowed: 1 to 1m)");
  EXPECT_EQ(refusal_of("seqcdc:avg=8k,skip=17k"), "chunker seqcdc: skip=17k is out of range (allowed: 0 to 16k)");
  EXPECT_EQ(refusal_of("seqcdc:avg=4m"), "chunker seqcdc: avg=4m is out of range (allowed: 64 to 1m)");
}

}  // namespace
}  // namespace dedupfs
