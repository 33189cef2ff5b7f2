#include "job_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "command/command.h"
#include "support/json_contract.h"

namespace dedupfs::tools {
namespace {

using testing::HasSubstr;

// A long job of a tool, with these arguments.
struct Job {
  explicit Job(const std::vector<std::string>& arguments, bool is_terminal = false)
      : process{.err_is_terminal = is_terminal} {
    Command app("A tool.", "tool");
    add_json_flag(app, "JSON");
    define_progress_flag(app);
    exit_code = console.parse(app, arguments).value_or(0);
  }

  std::ostringstream out, err;
  Console console{{.name = "tool", .usage_error = 1, .failed = 2}, out, err};
  const Process process;
  int exit_code = 0;
};

TEST(JobProgress, IsALineOnTheTerminalThatIsRemoved) {
  Job job({}, true);
  JobProgress progress(job.console, job.process);

  EXPECT_TRUE(progress.is_seen());
  EXPECT_TRUE(progress.is_due());
  EXPECT_FALSE(progress.is_due()) << "not twice at the same time";
  progress.show("half of it", {.stage = "copy"});
  progress.clear();

  EXPECT_EQ(job.err.str(), "\r\x1b[Khalf of it\r\x1b[K");
  EXPECT_EQ(job.out.str(), "");
}

TEST(JobProgress, IsSilentInAPipe) {
  Job job({"--json"});
  JobProgress progress(job.console, job.process);

  EXPECT_FALSE(progress.is_seen());
  EXPECT_FALSE(progress.is_due());
  progress.show("half of it", {.stage = "copy"});
  progress.clear();

  EXPECT_EQ(job.err.str() + job.out.str(), "");
}

TEST(JobProgress, IsALineOfJsonIfThatWasAskedFor) {
  Job job({"--json", "--progress"}, true);
  JobProgress progress(job.console, job.process);

  EXPECT_TRUE(progress.is_due());
  progress.show("half of it", state_of_copy("copy", 50, 100, 10));
  progress.clear();

  EXPECT_EQ(job.err.str(), "") << "no second one on the terminal";
  EXPECT_EQ(contract_findings(job.out.str()), "");
  const auto line = nlohmann::json::parse(job.out.str());
  EXPECT_EQ(line.at("event"), "progress");
  EXPECT_EQ(line.at("percent"), 50.0);
  EXPECT_EQ(line.at("bytes_per_second"), 5.0);
  EXPECT_EQ(line.at("seconds_left"), 10.0);
  EXPECT_EQ(line.at("item"), nullptr);
}

TEST(JobProgress, NeedsJson) {
  Job job({"--progress"});

  EXPECT_EQ(job.exit_code, 1);
  EXPECT_THAT(job.err.str(), HasSubstr("--json"));
}

TEST(JobProgress, TellsRateAndTimeLeftAsFarAsTheyAreKnown) {
  EXPECT_EQ(rate_and_time_left(state_of_copy("copy", 50'000'000, 100'000'000, 1)), ", 50 MB/s, 1 second left");
  EXPECT_EQ(rate_and_time_left(state_of_copy("copy", 1'000'000, 601'000'000, 1)), ", 1 MB/s, 10 minutes left");
  EXPECT_EQ(rate_and_time_left(state_of_copy("copy", 50'000'000, 0, 1)), ", 50 MB/s");
  EXPECT_EQ(rate_and_time_left(state_of_copy("copy", 0, 100, 1)), ", 0 MB/s");
  EXPECT_EQ(rate_and_time_left({.stage = "settle"}), "");
}

TEST(JobProgress, MoreThanAllIsAll) {
  const JobState state = state_of_copy("copy", 200, 100, 1);

  EXPECT_EQ(state.percent, 100.0);
  EXPECT_EQ(state.seconds_left, 0.0);
}

TEST(JobProgress, ShowsAJobOfADaemon) {
  Job job({"--json", "--progress"});
  JobProgress progress(job.console, job.process);
  const auto screen = [](const nlohmann::json& status) { return status.at("text").get<std::string>() + "\nmore"; };

  show_job(progress,
           {{"running", true}, {"phase", "mark"}, {"progress_percent", 12.5}, {"seconds_left", nullptr}, {"text", "a"}},
           screen);
  show_job(progress, {{"of", "another form"}}, screen);

  EXPECT_EQ(contract_findings(job.out.str()), "");
  const auto line = nlohmann::json::parse(job.out.str());
  EXPECT_EQ(line.at("stage"), "mark");
  EXPECT_EQ(line.at("percent"), 12.5);
  EXPECT_EQ(line.at("seconds_left"), nullptr);
}

// What they have in common as a number a second is the limit.
TEST(JobProgress, TheRateOfAJobIsTheOneThatWasMeasured) {
  for (const char* measured : {"swept_bytes_per_second", "checked_bytes_per_second"}) {
    Job job({"--json", "--progress"});
    JobProgress progress(job.console, job.process);

    show_job(progress, {{"running", true}, {"bytes_per_second", 7}, {measured, 1000.5}},
             [](const nlohmann::json&) { return std::string(); });

    EXPECT_EQ(nlohmann::json::parse(job.out.str()).at("bytes_per_second"), 1000.5) << measured;
  }
}

}  // namespace
}  // namespace dedupfs::tools
