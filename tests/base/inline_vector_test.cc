#include "base/inline_vector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace dedupfs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Few = InlineVector<std::uint64_t, 3>;

static_assert(std::is_trivially_copyable_v<Few>);
static_assert(Few::capacity() == 3);

TEST(InlineVector, KeepsValuesInTheOrderInWhichTheyCame) {
  Few few;
  EXPECT_THAT(few, IsEmpty());
  few.push_back(7);
  few.push_back(5);
  EXPECT_THAT(few, ElementsAre(7, 5));
  EXPECT_EQ(few.size(), 2U);
  EXPECT_EQ(few[0], 7U);
  EXPECT_EQ(few.back(), 5U);
  EXPECT_THAT(std::vector(few.rbegin(), few.rend()), ElementsAre(5, 7));
}

TEST(InlineVector, IsMadeFromValues) {
  EXPECT_THAT((Few{1, 2, 3}), ElementsAre(1, 2, 3));
  const std::vector<std::uint64_t> values = {4, 6};
  EXPECT_THAT(Few(std::span<const std::uint64_t>(values)), ElementsAre(4, 6));
}

TEST(InlineVector, ComparesOnlyTheValuesThatAreThere) {
  Few cleared = {1, 2};
  cleared.clear();
  EXPECT_EQ(cleared, Few());
  cleared.push_back(9);
  EXPECT_EQ(cleared, Few{9});
  EXPECT_NE(cleared, (Few{9, 2}));
  EXPECT_NE(cleared, Few{8});
}

TEST(InlineVector, ChangesInPlace) {
  Few few = {1, 2, 3};
  for (std::uint64_t& value : few) value *= 10;
  EXPECT_THAT(few, ElementsAre(10, 20, 30));
}

TEST(InlineVectorDeathTest, HoldsNoMoreThanItsCapacity) {
  Few few = {1, 2, 3};
  EXPECT_DEATH(few.push_back(4), "size_ < N");
  const std::vector<std::uint64_t> values(4);
  EXPECT_DEATH(Few(std::span<const std::uint64_t>(values)), "values.size\\(\\) <= N");
}

}  // namespace
}  // namespace dedupfs
