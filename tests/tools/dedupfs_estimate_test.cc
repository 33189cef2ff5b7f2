#include "dedupfs_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "fs/test_filesystem.h"
#include "manual.h"
#include "outcome.h"
#include "support/files.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class RunEstimate : public testing::Test {
 protected:
  RunEstimate() {
    const std::string content = random_text(2 << 20, 1);
    for (const char* const name : {"monday", "tuesday"}) {
      std::filesystem::create_directories(dir_.path() / name);
      overwrite(dir_.path() / name / "file", content);
    }
  }
  Outcome run(std::vector<std::string> options, const Process& process = {}) const {
    for (const char* const name : {"monday", "tuesday"}) options.push_back(dir_.path() / name);
    return outcome_of(run_estimate, options, process);
  }

  const TempDir dir_;
};

TEST_F(RunEstimate, SaysWhatTheFilesWouldTakeAndWhy) {
  const Outcome outcome = run({});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, ContainsRegex("^4.00 MiB in 2 files would take 2\\.[0-9]+ MiB \\(1\\.[0-9]+ : 1\\)"));
  EXPECT_THAT(outcome.out, HasSubstr("of which deduplication 2.00, deltas 1.00, compression 1.00.\n"));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(RunEstimate, JsonHasTheKeysOfStatAndTheManualNamesTheRest) {
  const Outcome outcome = run({"--json"});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("complete"), true);
  EXPECT_EQ(json.at("logical_bytes"), 4 << 20);
  EXPECT_EQ(json.at("settled").at("logical_bytes"), 4 << 20);
  EXPECT_NEAR(json.at("dedup_ratio").get<double>(), 2, 0.01);
  EXPECT_NEAR(json.at("total_ratio").get<double>(), 1.5, 0.5);
  const std::string manuals = manual_text("dedupfs-estimate.1") + manual_text("dedupfs-stat.1");
  EXPECT_EQ(keys_missing_in(manuals, json), "");
}

TEST_F(RunEstimate, TakesTheOptionsOfMkfs) {
  const Outcome outcome = run({"--json", "--chunker", "fixed:size=4k", "--delta", "none", "--compression", "none"});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_THAT(json.at("chunker").get<std::string>(), HasSubstr("fixed"));
  EXPECT_EQ(json.at("compression"), "none");
  EXPECT_EQ(json.at("unique_chunks"), 512);
  EXPECT_EQ(run({"--chunker", "nonsense"}).exit_code, 1);
  EXPECT_EQ(run({"--memory", "much"}).exit_code, 1);
}

TEST_F(RunEstimate, ComparesSettingsAndAdvises) {
  const Outcome outcome = run({"--compare", "--settled", "none"});
  const auto json = nlohmann::json::parse(run({"--compare", "--json", "--settled", "none"}).out);

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("--chunker fixed:size=4k --settled none\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("\nAdvice: mkfs.dedupfs .*--settled none\nReason: .*\\.\n$"));
  EXPECT_EQ(json.at("compared").at(0).at("options"), "--settled none");
  EXPECT_EQ(json.at("compared").at(1).at("settled").at("logical_bytes"), 4 << 20);
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-estimate.1"), json), "");
  EXPECT_EQ(run({"--compare", "--memory", "1m"}).exit_code, 2);
}

// The second has the same content as the first.
TEST_F(RunEstimate, SaysWhatEachVersionAdds) {
  const auto json = nlohmann::json::parse(run({"--versions", "--json"}).out);

  EXPECT_EQ(json.at("complete"), true);
  EXPECT_EQ(json.at("versions").at(1).at("logical_bytes"), 2 << 20);
  EXPECT_GT(json.at("versions").at(0).at("added_bytes"), 2 << 20);
  EXPECT_LT(json.at("versions").at(1).at("added_bytes"), 100 << 10);
  EXPECT_EQ(json.at("forecast").at("added_bytes"), json.at("versions").at(1).at("added_bytes"));
  EXPECT_EQ(keys_missing_in(manual_text("dedupfs-estimate.1"), json), "");
  EXPECT_THAT(run({"--versions"}).out, HasSubstr("A further version would add about "));
  EXPECT_EQ(run({"--versions", "--compare"}).exit_code, 1);
}

TEST_F(RunEstimate, NamesTheRemedyWhenTheMemoryEnds) {
  const Outcome outcome = run({"--memory", "1m"});

  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("1.00 MiB of memory"), HasSubstr("--memory SIZE")));
  EXPECT_EQ(nlohmann::json::parse(run({"--json", "--memory", "1m"}).out).at("complete"), false);
}

TEST_F(RunEstimate, FailsForAPathThatIsNotThere) {
  const Outcome outcome = outcome_of(run_estimate, {dir_.path() / "none"}, Process());

  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("none"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(RunEstimate, DrawsProgressWithTheTimeLeftOnATerminalOnly) {
  EXPECT_THAT(run({}, {.err_is_terminal = true}).err,
              AllOf(ContainsRegex("copied .* of 4\\.00 MiB, [0-9]+ MB/s, [0-9]+ seconds? left"),
                    testing::EndsWith("\r\x1b[K")));
  EXPECT_THAT(run({"--sample", "5%"}, {.err_is_terminal = true}).err, ContainsRegex("copied .* of 4\\.00 MiB.* left"));
  EXPECT_EQ(run({}).err, "");
}

TEST_F(RunEstimate, SaysHowLongACopyTakesAndHowMuchMemoryAMount) {
  EXPECT_THAT(run({}).out,
              ContainsRegex("\nAbout [0-9]+ seconds? to copy, and about [0-9]+ MiB of memory for the mount: "));
  EXPECT_GT(nlohmann::json::parse(run({"--json"}).out).at("mount_memory_bytes"), 1 << 20);
}

TEST_F(RunEstimate, ASampleOfEverythingHasNoMargin) {
  const Outcome outcome = run({"--sample", "5%"});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("^4.00 MiB in 2 files would take 2\\.[0-9]+ MiB once settled"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("±")));
}

TEST_F(RunEstimate, StopsWhenItIsAskedTo) {
  const Outcome outcome = run({}, {.stop_was_asked_for = [] { return true; }});

  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace dedupfs::tools
