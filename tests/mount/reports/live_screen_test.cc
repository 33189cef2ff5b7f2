#include "mount/reports/live_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sample_live.h"

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

nlohmann::json busy() {
  SampleLive daemon;
  for (int i = 0; i < 100; ++i) daemon.writes.add(850us, 1'234'500, false);
  daemon.cut.add(123'450'000, 250ms);
  daemon.delta.add(100'000'000, 750ms);
  daemon.room.add(0, 900ms);
  daemon.inodes.note(true);
  daemon.unstored_bytes = 3 << 20;
  return live_rates(SampleLive().after(3h), daemon.after(3h + 1s), 2);
}

std::vector<std::string> lines_of(const std::string& screen) {
  std::vector<std::string> lines;
  std::istringstream stream(screen);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(LiveScreen, FitsIntoEightyColumns) {
  const auto lines = lines_of(live_screen(busy(), "/backup/" + std::string(200, 'x'), {}));

  EXPECT_GT(lines.size(), 12u);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
}

TEST(LiveScreen, ShowsRatesStagesAndTheBottleneck) {
  const std::string screen = live_screen(busy(), "/backup", {});

  EXPECT_THAT(screen, testing::StartsWith("dedupfs-top /backup, mounted for 3 hours\nIn 123.5 MB/s   Out 0.0 MB/s\n"));
  EXPECT_THAT(screen, HasSubstr("The bottleneck is deltas (finding and reading similar chunks, and encoding): 75"));
  EXPECT_THAT(screen, testing::ContainsRegex("\nwrite +100\\.0 +850 us +9[0-9]{2} us +123\\.5 +0\\.0\n"));
  EXPECT_THAT(screen, testing::ContainsRegex("\ndelta +0\\.75 +75 % +100\\.0  #+\n"));
  EXPECT_THAT(screen, testing::ContainsRegex("\nunstored_data +0\\.90  writers wait\n"));
  EXPECT_THAT(screen, testing::ContainsRegex("\ninodes +1\\.0 +100 % +unstored_bytes +3\\.00 MiB\n"));
  EXPECT_THAT(screen, HasSubstr("\nLast reclaim: none since the mount"));
  EXPECT_THAT(screen, Not(HasSubstr("\x1b")));
}

TEST(LiveScreen, HasNoMoreLinesThanTheTerminal) {
  EXPECT_EQ(lines_of(live_screen(busy(), "/backup", {.lines = 10})).size(), 10u);
}

TEST(LiveScreen, ColorsTakeNoColumns) {
  const std::string plain = live_screen(busy(), "/backup", {});
  std::string colored = live_screen(busy(), "/backup", {.has_color = true});

  EXPECT_THAT(colored, HasSubstr("\x1b[33mThe bottleneck"));
  for (const std::string code : {"\x1b[1m", "\x1b[33m", "\x1b[0m"})
    for (std::size_t at; (at = colored.find(code)) != std::string::npos;) colored.erase(at, code.size());
  EXPECT_EQ(colored, plain);
}

// A character takes one column, however many bytes it has.
TEST(LiveScreen, CutsBetweenCharacters) {
  std::string mountpoint;
  for (int i = 0; i < 100; ++i) mountpoint += "ü";

  const std::string first = lines_of(live_screen(busy(), mountpoint, {.columns = 20}))[0];

  EXPECT_EQ(first, "dedupfs-top üüüüüüüü");
}

}  // namespace
}  // namespace dedupfs
