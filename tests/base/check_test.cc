#include "base/check.h"

#include <gtest/gtest.h>

#include <csignal>

namespace dedupfs {
namespace {

TEST(Check, APromiseThatHoldsIsLookedAtOnceAndCostsNothing) {
  int looks = 0;
  DEDUPFS_CHECK(++looks == 1);
  EXPECT_EQ(looks, 1);
}

TEST(CheckDeathTest, ABrokenPromiseEndsTheProgramAndSaysWhichAndWhere) {
  EXPECT_EXIT(DEDUPFS_CHECK(1 + 1 == 3), testing::KilledBySignal(SIGABRT),
              "dedupfs: internal error: 1 \\+ 1 == 3 is false \\(.*check_test.cc:[0-9]+\\)");
}

// It stands where a single statement may stand.
TEST(Check, IsOneStatement) {
  bool other = false;
  if (const bool never = false; never)
    DEDUPFS_CHECK(never);
  else
    other = true;
  EXPECT_TRUE(other);
}

}  // namespace
}  // namespace dedupfs
