#include "dedupfs_scrub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>

#include "manual.h"
#include "outcome.h"
#include "served_volume.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Outcome scrub(const std::vector<std::string>& arguments, const Process& process = {}) {
  return outcome_of(run_scrub, arguments, process);
}

nlohmann::json json_of(const std::vector<std::string>& arguments) {
  return nlohmann::json::parse(scrub(arguments).out);
}

TEST(RunScrub, ChecksAllDataAndWaitsForTheEnd) {
  const ServedVolume volume;
  EXPECT_THAT(scrub({"--status", volume.path()}).out, StartsWith("Last scrub: never"));

  const Outcome outcome = scrub({"--wait", "--rate", "0", volume.path()});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("^Last scrub: 2.* checked, no damage\n"));
}

TEST(RunScrub, JsonHasTheDocumentedMembers) {
  const ServedVolume volume;

  const Outcome outcome = scrub({"--wait", "--rate", "0", "--json", volume.path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("running"), false);
  EXPECT_EQ(json.at("last").at("complete"), true);
  EXPECT_GE(json.at("last").at("checked_bytes").get<std::uint64_t>(), 2 * kFileBytes);
  for (const char* key : {"progress_percent", "seconds_left", "current"}) EXPECT_TRUE(json.contains(key)) << key;
}

TEST(RunScrub, TheManualNamesEachKey) {
  const ServedVolume volume;
  const std::string manual = manual_text("dedupfs-scrub.8");

  const auto json = nlohmann::json::parse(scrub({"--wait", "--rate", "0", "--json", volume.path()}).out);

  EXPECT_EQ(keys_missing_in(manual, json), "");
  EXPECT_EQ(keys_missing_in(manual, json.at("last")), "");
}

TEST(RunScrub, DamageHasAnExitCodeOfItsOwn) {
  const ServedVolume volume;
  damage_containers(volume.path());

  const Outcome outcome = scrub({"--wait", "--rate", "0", volume.path()});

  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("DAMAGED CHUNKS"), HasSubstr("fsck.dedupfs")));
}

TEST(RunScrub, NamesDamagedFilesByPath) {
  const ServedVolume volume;
  EXPECT_EQ(json_of({"--status", "--json", volume.path()}).at("damaged_files"), nullptr);
  EXPECT_EQ(json_of({"--wait", "--rate", "0", "--json", volume.path()}).at("damaged_files"), nlohmann::json::array());
  damage_containers(volume.path());

  const auto json = json_of({"--wait", "--rate", "0", "--json", volume.path()});

  EXPECT_FALSE(json.at("damaged_files").empty());
  for (const auto& file : json.at("damaged_files")) EXPECT_THAT(file, testing::AnyOf("/kept", "/other"));
  EXPECT_EQ(json.at("more_damaged_files"), 0);
  EXPECT_THAT(scrub({"--status", volume.path()}).out, HasSubstr("\nDamaged: /"));
}

TEST(RunScrub, CanBeStopped) {
  const ServedVolume volume;

  EXPECT_EQ(scrub({"--rate", "1k", volume.path()}).exit_code, 0);
  const Outcome outcome = scrub({"--stop", volume.path()});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("stopped early"));
}

TEST(RunScrub, SaysWithItsCodeThatAnotherStoppedWhatItWaitsFor) {
  const ServedVolume volume;
  auto waiting = std::async(std::launch::async, [&] { return scrub({"--wait", "--rate", "1k", volume.path()}); });
  while (!json_of({"--status", "--json", volume.path()}).at("running").get<bool>())
    ASSERT_EQ(waiting.wait_for(std::chrono::milliseconds(1)), std::future_status::timeout) << waiting.get().out;

  EXPECT_EQ(scrub({"--stop", volume.path()}).exit_code, 0);

  EXPECT_EQ(waiting.get().exit_code, 3);
}

TEST(RunScrub, ABadRateIsNamedWithTheRemedy) {
  EXPECT_THAT(scrub({"--set-rate", "fast", "/volume"}).err, HasSubstr("--set-rate: 'fast'"));
  EXPECT_THAT(scrub({"--rate", "50", "/volume"}).err, HasSubstr("50 is 50 bytes a second: write 50m for 50 MiB"));
  const Outcome outcome = scrub({"--rate", "fast", "/volume"});

  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--rate: 'fast' is not a size"), HasSubstr("50m")));
}

TEST(RunScrub, NeedsAMount) {
  const ClosedVolume volume;

  const Outcome outcome = scrub({volume.path()});

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("dedupfs-scrub: "), HasSubstr("not mounted")));
}

TEST(RunScrub, FailsIfItsOutputCannotBeWritten) {
  const ServedVolume volume;

  EXPECT_EQ(outcome_on_full_disk(run_scrub, {"--status", volume.path()}, Process()).exit_code, 2);
}

TEST(RunScrub, AWaitShowsProgressOnATerminalAndIsSilentInAPipe) {
  const ServedVolume volume;
  const std::vector<std::string> slowly{"--wait", "--rate", "8m", volume.path()};
  EXPECT_EQ(scrub(slowly).err, "");
  const Outcome outcome = scrub(slowly, {.err_is_terminal = true});

  EXPECT_EQ(outcome.exit_code, 0);
  if (!outcome.err.empty()) {  // it may be faster than the first look
    EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr("Scrub running: "), testing::EndsWith("\r\x1b[K")));
  }
}

}  // namespace
}  // namespace dedupfs::tools
