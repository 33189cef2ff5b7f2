#include "mount/daemon/closing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

struct ClosingTest : testing::Test {
  Closing::Clock::time_point now = Closing::Clock::now();
  bool told_to_end = false;
  std::vector<std::string> reports;
  const std::function<std::string()> nothing = [] { return std::string(); };
  Closing::World world{.is_told_to_end = [this] { return told_to_end; },
                       .report = [this](const std::string& text) { reports.push_back(text); },
                       .now = [this] { return now; }};
};

TEST_F(ClosingTest, OfAnUnmountTakesAsLongAsItNeeds) {
  Closing closing(world, std::nullopt);
  now += 24h;
  EXPECT_TRUE(closing.goes_on(nothing));
}

TEST_F(ClosingTest, BySignalEndsBeforeTheSystemWouldKillTheDaemon) {
  Closing closing(world, now);
  now += 59s;
  EXPECT_TRUE(closing.goes_on(nothing));
  now += 1s;
  EXPECT_FALSE(closing.goes_on(nothing));
}

TEST_F(ClosingTest, IsHurriedByASignalThatComesLater) {
  Closing closing(world, std::nullopt);
  now += 1h;
  told_to_end = true;
  EXPECT_TRUE(closing.goes_on(nothing));
  now += 59s;
  EXPECT_TRUE(closing.goes_on(nothing));
  now += 1s;
  EXPECT_FALSE(closing.goes_on(nothing));
}

TEST_F(ClosingTest, SaysHowFarItIsOnceASecond) {
  Closing closing(world, std::nullopt);
  for (int i = 0; i < 25; ++i, now += 100ms) closing.goes_on([i] { return std::to_string(i) + " records"; });
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_THAT(reports[0], testing::HasSubstr("10 records"));
  EXPECT_THAT(reports[1], testing::HasSubstr("20 records"));
}

}  // namespace
}  // namespace dedupfs
