#include "fs/estimate/extrapolation.h"
#include "support/sanitized.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace dedupfs {
namespace {

// Pieces of which each occurs in `copies` random columns of so many, and what a sample of the first columns tells of all.
class Trial {
 public:
  Trial(unsigned seed, std::size_t columns, int copies, std::size_t pieces) : columns_(columns) {
    std::mt19937 random(seed);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      std::set<std::size_t> places;
      for (int copy = 0; copy < copies; ++copy) places.insert(random() % columns);
      for (const std::size_t place : places) {
        columns_[place].bytes += 1;
        columns_[place].alone += 1;
        if (place != *places.begin()) columns_[place].saved += 1;
      }
      truth_ += 1;
    }
  }
  Extrapolation from(std::size_t columns) const {
    double all = 0;
    for (const ColumnCost& column : columns_) all += column.bytes;
    return extrapolate(std::span(columns_).first(columns), all);
  }
  double truth() const { return truth_; }

 private:
  std::vector<ColumnCost> columns_;
  double truth_ = 0;
};

TEST(Extrapolation, ASampleThatIsAllIsExact) {
  const Trial trial(1, 50, 3, 5000);
  const Extrapolation found = trial.from(50);

  EXPECT_NEAR(found.value, trial.truth(), 1e-6 * trial.truth());
  EXPECT_EQ(found.margin, 0);
}

TEST(Extrapolation, NothingCostsNothing) {
  EXPECT_EQ(extrapolate({}, 0).value, 0);
  EXPECT_EQ(extrapolate({}, 0).margin, 0);
}

// That no sample was taken of data that are there says nothing of what they cost: between nothing and all.
TEST(Extrapolation, NoSampleHasAMarginAsLargeAsTheValue) {
  const Extrapolation found = extrapolate({}, 100);

  EXPECT_EQ(found.value - found.margin, 0);
  EXPECT_EQ(found.value + found.margin, 100);
}

// From a tenth of the data, for pieces that occur once, twice, and often.
TEST(Extrapolation, TheTruthLiesWithinTheMargin) {
  int trials = 0;
  int inside = 0;
  for (const int copies : {1, 2, 3, 10, 50})
    for (unsigned seed = 0; seed < (kSanitized ? 4 : 20); ++seed, ++trials) {
      const Trial trial(seed, 400, copies, 8000);
      const Extrapolation found = trial.from(40);
      inside += std::abs(found.value - trial.truth()) <= found.margin ? 1 : 0;
    }
  EXPECT_GE(inside, trials * 95 / 100);
}

TEST(Extrapolation, AMarginOfPiecesThatOccurOnceIsSmall) {
  const Trial trial(1, 400, 1, 80000);
  const Extrapolation found = trial.from(40);

  EXPECT_LT(found.margin, 0.1 * found.value);
}

TEST(Extrapolation, ASingleColumnTellsNothingOfTheRest) {
  const std::vector<ColumnCost> one{{100, 50, 0}};
  const Extrapolation found = extrapolate(one, 1000);

  EXPECT_NEAR(found.value, 500, 1);
  EXPECT_GE(found.margin, 400);
}

}  // namespace
}  // namespace dedupfs
