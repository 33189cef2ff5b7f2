#include "stat_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dedupfs_stat.h"
#include "fs/history/history_series.h"
#include "manual.h"
#include "mount/reports/history_report.h"
#include "outcome.h"
#include "served_volume.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kSampleDay = 86'400;

// A sample of each of the last `days` days.
void keep_samples(Filesystem& filesystem, std::int64_t days) {
  for (std::int64_t day = 0; day < days; ++day) {
    HistorySample sample;
    sample.unix_seconds = std::time(nullptr) - day * kSampleDay;
    sample.disk_bytes = static_cast<std::uint64_t>(1000 - day) << 20;
    put_history_sample(filesystem.volume().metadata(), sample);
  }
}

struct StatHistory : testing::Test {
  StatHistory() {
    fill(fs);
    keep_samples(*fs, 30);
    fs.close();
  }
  std::string path() const { return fs.path(); }

  TestFilesystem fs;
};

TEST_F(StatHistory, IsATable) {
  const Outcome outcome = outcome_of(run_stat, {"--history", path()});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("On disk"), HasSubstr("1000.00 MiB"), HasSubstr("971.00 MiB"),
                                 HasSubstr("Grows by 1.00 MiB a day")));
}

TEST_F(StatHistory, LeavesOutWhatIsOlder) {
  const Outcome outcome = outcome_of(run_stat, {"--history", "--since", "10d", "--csv", path()});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(",1048576000,"), Not(HasSubstr(std::to_string(971 << 20)))));
}

TEST_F(StatHistory, JsonHasAllSamplesAndTheGrowth) {
  const Outcome outcome = outcome_of(run_stat, {"--history", "--json", path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_THAT(json.at("samples"), SizeIs(30));
  EXPECT_EQ(json.at("growth").at("bytes_per_day"), 1 << 20);
  const std::string manual = manual_text("dedupfs-stat.1");
  EXPECT_EQ(keys_missing_in(manual, json), "");
  EXPECT_EQ(keys_missing_in(manual, json.at("samples")[0]), "");
  EXPECT_EQ(keys_missing_in(manual, json.at("growth")), "");
}

TEST_F(StatHistory, ThePlotIsAsWideAsTheTerminal) {
  std::ostringstream out, err;
  const Console console({.name = "dedupfs-stat", .usage_error = 1, .failed = 1}, out, err);
  const Terminal terminal{.has_utf8 = true, .size = [] { return TerminalSize{.columns = 50, .lines = 10}; }};

  EXPECT_EQ(show_history({.path = path(), .since = {}, .form = HistoryQuestion::Form::kPlot}, console, terminal), 0);

  EXPECT_THAT(out.str(), HasSubstr("\n1000.00 MiB "));
  EXPECT_THAT(out.str(), HasSubstr("█"));
}

TEST_F(StatHistory, RefusesWhatMakesNoSense) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--csv", path()},
                                             {"--since", "1d", path()},
                                             {"--history", "--csv", "--plot", path()},
                                             {"--history", "--since", "soon", path()},
                                             {"--history", "--json", "--csv", path()},
                                             {"--history"}})
    EXPECT_EQ(outcome_of(run_stat, arguments).exit_code, 1) << arguments.front();
}

TEST(StatHistoryOfAMount, AsksTheDaemon) {
  ServedVolume volume;
  keep_samples(*volume.filesystem(), 3);

  const Outcome outcome = outcome_of(run_stat, {"--history", "--json", volume.path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(nlohmann::json::parse(outcome.out).at("samples"), SizeIs(3));
}

}  // namespace
}  // namespace dedupfs::tools
