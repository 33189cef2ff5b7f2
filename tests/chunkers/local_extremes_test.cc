#include <gtest/gtest.h>

#include "by_spec.h"

namespace dedupfs {
namespace {

// `size` bytes of 1, with others at some places.
ByteBuffer flat_but_for(std::size_t size, std::initializer_list<std::pair<std::size_t, std::uint8_t>> others) {
  ByteBuffer data(size, 1);
  for (const auto& [place, byte] : others) data[place] = byte;
  return data;
}

// ---------------------------------------------------------------- RAM

TEST(Ram, EndsInFrontOfTheFirstByteThatIsNotBelowTheMaximumOfTheWindow) {
  // 9 is the maximum of the window [0, 100), 8 is below it.
  const ByteBuffer data = flat_but_for(1000, {{30, 9}, {200, 8}, {300, 9}});

  EXPECT_EQ(first_cut_of("ram:window=100,min=64,avg=400,max=600", data), 300u);
}

TEST(Ram, ConstantDataEndsAtTheWindow) {
  EXPECT_EQ(cuts_of("ram:window=100,avg=400,max=600", ByteBuffer(250, 7)), (Ends{100, 200, 250}));
}

TEST(Ram, FallingDataEndsAtTheMaximum) {
  ByteBuffer data(250);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(255 - i);

  EXPECT_EQ(cuts_of("ram:window=64,avg=70,max=100", data), (Ends{100, 200, 250}));
}

TEST(Ram, AnInsertedByteMovesTheCutsAlong) {
  const ByteBuffer data = random_bytes(100'000, 1);
  ByteBuffer longer = data;
  longer.insert(longer.begin() + 10, 0);  // not the largest of its window

  Ends expected = cuts_of("ram:avg=1k", data);
  for (auto& end : expected) ++end;

  EXPECT_EQ(cuts_of("ram:avg=1k", longer), expected);
}

// ---------------------------------------------------------------- AE

TEST(AeMax, EndsAWindowBehindTheFirstByteThatNoneExceeds) {
  const ByteBuffer data = flat_but_for(1000, {{30, 9}, {200, 8}});

  // The second chunk begins at 130, and 8 is its largest.
  EXPECT_EQ(cuts_of("ae-max:window=100,avg=400,max=600", data), (Ends{130, 300, 400, 500, 600, 700, 800, 900, 1000}));
}

TEST(AeMax, ALargerByteWithinTheWindowTakesOver) {
  EXPECT_EQ(first_cut_of("ae-max:window=100,avg=400,max=600", flat_but_for(1000, {{30, 9}, {130, 10}})), 230u);
  EXPECT_EQ(first_cut_of("ae-max:window=100,avg=400,max=600", flat_but_for(1000, {{30, 9}, {131, 10}})), 130u);
}

TEST(AeMax, AnEqualByteDoesNot) {
  EXPECT_EQ(first_cut_of("ae-max:window=100,avg=400,max=600", flat_but_for(1000, {{30, 9}, {100, 9}})), 130u);
}

TEST(AeMax, ConstantDataEndsAtTheWindow) {
  EXPECT_EQ(cuts_of("ae-max:window=100,avg=400,max=600", ByteBuffer(250, 7)), (Ends{100, 200, 250}));
}

TEST(AeMax, RisingDataEndsAtTheMaximum) {
  ByteBuffer data(500);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i % 250);

  EXPECT_EQ(cuts_of("ae-max:window=100,avg=200,max=250", data), (Ends{250, 500}));
}

TEST(AeMin, CutsWhereAeMaxCutsTheComplement) {
  for (const auto& [name, data] : patterns(50'000, 2))
    for (const std::string parameters : {":window=100,avg=400,max=600", ":avg=1k"})
      EXPECT_EQ(cuts_of("ae-min" + parameters, complement_of(data)), cuts_of("ae-max" + parameters, data)) << name;
}

// ---------------------------------------------------------------- MAXP

TEST(Maxp, EndsInFrontOfAByteThatExceedsTheWindowBehindItAndIsNotBelowTheWindowBeforeIt) {
  EXPECT_EQ(cuts_of("maxp:window=100,avg=400,max=600", flat_but_for(1000, {{300, 9}})), (Ends{300, 900, 1000}));
  EXPECT_EQ(first_cut_of("maxp:window=100,avg=400,max=600", flat_but_for(1000, {{200, 9}, {300, 9}})), 300u)
      << "the byte before it may be as large";
}

TEST(Maxp, ALargerByteInTheWindowOnEitherSideIsAnEnd) {
  // Behind it: the larger one is the maximum. Before it: neither is, for 10 has no whole window before it.
  EXPECT_EQ(first_cut_of("maxp:window=100,avg=400,max=600", flat_but_for(1000, {{250, 9}, {350, 10}})), 350u);
  EXPECT_EQ(first_cut_of("maxp:window=100,avg=400,max=600", flat_but_for(1000, {{50, 10}, {149, 9}})), 600u);
  EXPECT_EQ(first_cut_of("maxp:window=100,avg=400,max=600", flat_but_for(1000, {{50, 10}, {151, 9}})), 151u);
}

// Bytes that are as large follow each other without an end.
TEST(Maxp, ConstantDataEndsAtTheMaximum) {
  EXPECT_EQ(cuts_of("maxp:window=100,avg=400,max=600", ByteBuffer(1000, 7)), (Ends{600, 1000}));
}

TEST(Maxp, DataThatIsTooShortForTwoWindowsIsOneChunk) {
  ByteBuffer data = flat_but_for(201, {{100, 9}});
  EXPECT_EQ(cuts_of("maxp:window=100,avg=400,max=600", data), Ends{201});

  data.push_back(1);
  EXPECT_EQ(cuts_of("maxp:window=100,avg=400,max=600", data), (Ends{100, 202}));
}

// A local maximum is one wherever its chunk began.
TEST(Maxp, TheFirstCutBehindAnInsertionIsAnOldOne) {
  const ByteBuffer data = random_bytes(200'000, 3);
  const Ends before = cuts_of("maxp:avg=1k,max=64k", data);
  for (const std::size_t inserted : {1u, 99u, 5000u}) {
    const ByteBuffer longer = joined({random_bytes(inserted, inserted), data});
    Ends after = cuts_of("maxp:avg=1k,max=64k", longer);
    std::erase_if(after, [&](std::size_t end) { return end < inserted + 10'000; });
    for (auto& end : after) end -= inserted;
    EXPECT_TRUE(std::ranges::includes(before, after)) << inserted;
  }
}

// ---------------------------------------------------------------- the windows that are chosen for an average

TEST(LocalExtremes, ChunksOfRandomDataHaveTheAverage) {
  const ByteBuffer data = random_bytes(8'000'000, 4);
  for (const std::string name : {"ae-max", "ae-min", "ram", "maxp"})
    for (const std::uint32_t avg : {2048u, 8192u}) {
      const double mean = mean_chunk_bytes(name + ":max=1m,avg=" + std::to_string(avg), data);
      EXPECT_NEAR(mean, avg, avg * (name == "maxp" ? 0.2 : 0.05)) << name;
    }
}

TEST(LocalExtremes, TheSmallestAverageLeavesRoomForTheSmallestWindow) {
  for (const std::string name : {"ae-max", "ae-min", "ram"}) {
    EXPECT_EQ(full_spec_of(name + ":avg=320"), name + ":min=64,avg=320,max=1280,window=64");
    EXPECT_EQ(refusal_of(name + ":avg=319"),
              "chunker " + name + ": avg=319 is too small for this algorithm (to use it all the same, set window)");
  }
  EXPECT_EQ(full_spec_of("maxp:avg=329"), "maxp:min=64,avg=329,max=1316,window=64");
  EXPECT_EQ(refusal_of("maxp:avg=328"),
            "chunker maxp: avg=328 is too small for this algorithm (to use it all the same, set window)");
}

}  // namespace
}  // namespace dedupfs
