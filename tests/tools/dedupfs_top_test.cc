#include "dedupfs_top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "manual.h"
#include "outcome.h"
#include "served_volume.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// With its default arguments, which a reference to the function does not have.
constexpr auto top = [](Arguments arguments, std::ostream& out, std::ostream& err, const Process& process = {},
                        const Terminal& terminal = {}) { return run_top(arguments, out, err, process, terminal); };

TEST(RunTop, OnceShowsOneView) {
  const ServedVolume volume;

  const Outcome outcome = outcome_of(top, {"--once", volume.path()});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("dedupfs-top " + volume.path() + ", mounted for "));
  EXPECT_THAT(outcome.out, HasSubstr("\nNobody uses the mount.\n"));
  EXPECT_EQ(outcome.err, "");
}

TEST(RunTop, TheManualNamesEachKey) {
  const ServedVolume volume;
  const std::string manual = manual_text("dedupfs-top.1");

  const auto json = nlohmann::json::parse(outcome_of(top, {"--once", "--json", volume.path()}).out);

  EXPECT_EQ(keys_missing_in(manual, json), "");
  for (const char* list : {"stages", "waits", "caches", "queues"})
    EXPECT_EQ(keys_missing_in(manual, json.at(list).at(0)), "") << list;
}

TEST(RunTop, ATerminalIsDrawnAnewUntilQIsPressed) {
  const ServedVolume volume;
  int waits = 0;
  Terminal terminal{.is_terminal = true, .size = [] { return TerminalSize{.columns = 60, .lines = 12}; }};
  terminal.wait_for_quit = [&](std::chrono::milliseconds duration) {
    EXPECT_EQ(duration, std::chrono::milliseconds(1500));
    return ++waits == 3;
  };

  const Outcome outcome = outcome_of(top, {"--interval", "1.5", volume.path()}, Process{}, terminal);

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("\x1b[2J\x1b[Hdedupfs-top "));
  std::size_t views = 0;
  for (std::size_t at = 0; (at = outcome.out.find("\x1b[H", at)) != std::string::npos; ++at) ++views;
  EXPECT_EQ(views, 2u);
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 2 * 11) << "the last row stays free";
}

TEST(RunTop, ASignalEndsIt) {
  const ServedVolume volume;
  int questions = 0;
  const Process process{.stop_was_asked_for = [&] { return ++questions == 2; }};

  const Outcome outcome = outcome_of(top, {volume.path()}, process);

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("Stage of ingest"));
}

TEST(RunTop, SaysThatTheMountIsGone) {
  auto volume = std::make_unique<ServedVolume>();
  const std::string path = volume->path();
  Terminal terminal;
  terminal.wait_for_quit = [&](std::chrono::milliseconds) {
    volume.reset();
    return false;
  };

  const Outcome outcome = outcome_of(top, {path}, Process{}, terminal);

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, StartsWith("dedupfs-top: " + path + ": its mount is gone, or does not answer: "));
}

TEST(RunTop, NeedsAMountedVolume) {
  const ClosedVolume volume;
  const TempDir folder;

  const Outcome closed = outcome_of(top, {volume.path()});
  const Outcome none = outcome_of(top, {folder.path().string()});

  EXPECT_EQ(closed.exit_code, 2);
  EXPECT_THAT(closed.err, HasSubstr("is not mounted"));
  EXPECT_EQ(none.exit_code, 2);
}

TEST(RunTop, FailsIfItsOutputCannotBeWritten) {
  const ServedVolume volume;

  EXPECT_EQ(outcome_on_full_disk(top, {volume.path()}).exit_code, 2);
}

}  // namespace
}  // namespace dedupfs::tools
