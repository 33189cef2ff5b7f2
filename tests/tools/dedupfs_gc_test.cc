#include "dedupfs_gc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "manual.h"
#include "outcome.h"
#include "served_volume.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Outcome gc(const std::vector<std::string>& arguments, const Process& process = {}) {
  return outcome_of(run_gc, arguments, process);
}

// A closed volume with garbage.
class GcTest : public testing::Test {
 protected:
  GcTest() {
    fill(filesystem_);
    delete_other(filesystem_);
    filesystem_.close();
  }

  std::string path() const { return filesystem_.path(); }

  TestFilesystem filesystem_;
};

TEST_F(GcTest, FreesTheSpaceOfAVolumeThatIsNotMounted) {
  const Outcome outcome = gc({"--json", path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("running"), false);
  EXPECT_EQ(json.at("last").at("complete"), true);
  EXPECT_GE(json.at("freed_bytes").get<std::uint64_t>(), kFileBytes);
  filesystem_.open();
  EXPECT_EQ(filesystem_.content(value_of(filesystem_.find("kept"))), random_text(kFileBytes, 1));
}

TEST_F(GcTest, TheManualNamesEachKey) {
  const std::string manual = manual_text("dedupfs-gc.8");

  const auto json = nlohmann::json::parse(gc({"--json", path()}).out);

  EXPECT_EQ(keys_missing_in(manual, json), "");
  EXPECT_EQ(keys_missing_in(manual, json.at("last")), "");
}

TEST_F(GcTest, SaysWhatItFreed) {
  const Outcome outcome = gc({path()});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::ContainsRegex("^Last reclaim: .* freed"));
  EXPECT_EQ(outcome.err, "") << "no progress without a terminal";
}

TEST_F(GcTest, ProgressOnATerminalIsOneLineThatIsRemoved) {
  const Outcome outcome = gc({path()}, {.err_is_terminal = true});

  EXPECT_THAT(outcome.err, AllOf(HasSubstr("Reclaim running: "), testing::EndsWith("\r\x1b[K"), Not(HasSubstr("\n"))));
}

TEST_F(GcTest, ProgressIsJsonLinesWithTheResultLast) {
  const Outcome outcome = gc({"--json", "--progress", path()}, {.err_is_terminal = true});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  const auto first = nlohmann::json::parse(outcome.out.substr(0, outcome.out.find('\n')));
  const auto last = nlohmann::json::parse(outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2) + 1));
  EXPECT_EQ(first.at("event"), "progress");
  EXPECT_EQ(last.at("event"), "result");
  EXPECT_EQ(last.at("last").at("complete"), true);
}

TEST_F(GcTest, AnErrorIsJsonToo) {
  const Outcome outcome = gc({"--json", "--pause", path()});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("error").at("exit_code"), 2);
}

TEST_F(GcTest, ASignalStopsIt) {
  Process process;
  process.stop_was_asked_for = [] { return true; };

  const Outcome outcome = gc({path()}, process);

  // It may be faster than the first look.
  if (outcome.exit_code == 0) GTEST_SKIP() << "the reclaim had ended";
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, StartsWith("Last reclaim: stopped after"));
}

TEST_F(GcTest, TakesALimitOfItsRate) {
  EXPECT_EQ(gc({"--rate", "500m", path()}).exit_code, 0);
  const Outcome wrong = gc({"--rate", "fast", path()});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("--rate: 'fast' is not a size"));
}

TEST_F(GcTest, OtherActionsNeedADaemon) {
  for (const std::string action : {"--status", "--pause", "--resume", "--stop"}) {
    const Outcome outcome = gc({action, path()});

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(path()), HasSubstr("is not mounted"), HasSubstr(action)));
  }
  EXPECT_THAT(gc({"--set-rate", "1m", path()}).err, AllOf(HasSubstr("is not mounted"), HasSubstr("--set-rate")));
}

TEST_F(GcTest, FailsIfItsOutputCannotBeWritten) {
  EXPECT_EQ(outcome_on_full_disk(run_gc, {path()}, Process()).exit_code, 2);
}

TEST(RunGc, TakesOneActionAndDoesNotWaitForWhatItStops) {
  EXPECT_EQ(gc({"--pause", "--resume", "/volume"}).exit_code, 1);
  EXPECT_EQ(gc({"--pause", "--wait", "/volume"}).exit_code, 1);
  EXPECT_THAT(gc({"--stop", "--wait", "/volume"}).err, HasSubstr("excludes"));
  EXPECT_EQ(gc({"--stop", "--set-rate", "1m", "/volume"}).exit_code, 1);
  EXPECT_EQ(gc({"--status", "--rate", "1m", "/volume"}).exit_code, 1);
}

TEST(RunGc, NamesWhatIsNoVolume) {
  const TempDir folder;
  const std::string missing = folder.path() / "missing";

  EXPECT_THAT(gc({missing}).err, StartsWith("dedupfs-gc: " + missing));
  EXPECT_EQ(gc({missing}).exit_code, 2);
  EXPECT_THAT(gc({folder.path().string()}).err, HasSubstr("not a dedupfs volume"));
}

TEST(RunGc, TheDaemonOfAVolumeReclaims) {
  ServedVolume volume;
  delete_other(volume.filesystem());

  const Outcome outcome = gc({"--wait", "--json", volume.path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GE(nlohmann::json::parse(outcome.out).at("freed_bytes").get<std::uint64_t>(), kFileBytes);
}

TEST(RunGc, PausesAndResumes) {
  const ServedVolume volume;

  EXPECT_EQ(nlohmann::json::parse(gc({"--pause", "--json", volume.path()}).out).at("paused"), true);
  EXPECT_THAT(gc({"--status", volume.path()}).out, HasSubstr("Automatic reclaims and settling are paused"));
  EXPECT_EQ(nlohmann::json::parse(gc({"--resume", "--json", volume.path()}).out).at("paused"), false);
}

TEST(RunGc, WhoWaitsForNoReclaimIsTold) {
  const ServedVolume volume;

  const Outcome outcome = gc({"--status", "--wait", volume.path()});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("no reclaim or settling is running"));
}

TEST(RunGc, AnInterruptedWaitLeavesTheReclaimInTheDaemon) {
  ServedVolume volume;
  delete_other(volume.filesystem());
  ASSERT_EQ(gc({"--pause", volume.path()}).exit_code, 0);
  Reclaimer& reclaimer = volume.filesystem()->reclaimer();
  Process process;
  process.stop_was_asked_for = [] { return true; };

  // A paused reclaimer takes no new one, so it is paused as soon as it runs.
  reclaimer.resume();
  ASSERT_TRUE(ok(reclaimer.start({})));
  reclaimer.pause();
  const bool is_running = reclaimer.status().running;
  const Outcome outcome = gc({"--status", "--wait", volume.path()}, process);

  if (!is_running || outcome.exit_code == 0) GTEST_SKIP() << "the reclaim ended before it was paused";
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("interrupted: the reclaim stays paused in the daemon"), HasSubstr("--stop")));
  reclaimer.stop();
}

}  // namespace
}  // namespace dedupfs::tools
