#include "dedupfs_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "fs/history/history_series.h"
#include "outcome.h"
#include "served_volume.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

Outcome report_with(const std::vector<std::string>& arguments) {
  return outcome_of(run_report, arguments, Process());
}

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kHostileFolder = "<img src=x onerror=alert(1)>";

// A week of samples, two folders and a snapshot.
void prepare(TestFilesystem& fs) {
  for (std::int64_t day = 0; day < 7; ++day) {
    HistorySample sample;
    sample.unix_seconds = std::time(nullptr) - day * 86'400;
    sample.disk_bytes = static_cast<std::uint64_t>(100 - day) << 20;
    put_history_sample(fs->volume().metadata(), sample);
  }
  fs.make_file(fs.make_directory(kRootInode, "music"), "song", random_text(100'000, 9));
  fs.make_directory(kRootInode, kHostileFolder);
  EXPECT_TRUE(ok(fs->create_snapshot("monday")));
}

std::string file_text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void expect_whole_page(const std::string& page) {
  EXPECT_THAT(page, AllOf(HasSubstr("Where the space goes"), HasSubstr("Grows by 1.00 MiB a day"),
                          HasSubstr("<bdi>music</bdi>"), HasSubstr("&lt;img src=x onerror=alert(1)&gt;"),
                          HasSubstr("<bdi>monday</bdi>"), EndsWith("</html>\n")));
  EXPECT_THAT(page, testing::Not(HasSubstr("<img")));
}

TEST(RunReport, WritesAPageAboutAVolumeThatOnlyItsOwnerMayRead) {
  TestFilesystem fs;
  fill(fs);
  prepare(fs);
  fs.close();
  const TempDir folder;
  const std::string file = folder.path() / "report.html";

  const Outcome outcome = report_with({fs.path(), "-o", file});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  expect_whole_page(file_text(file));
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "nothing is left";
}

TEST(RunReport, AsksTheDaemonOfAVolumeInUse) {
  ServedVolume volume;
  prepare(volume.filesystem());

  const Outcome outcome = report_with({"-o", "-", volume.path()});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_whole_page(outcome.out);
}

TEST(RunReport, ANewVolumeHasAPage) {
  const TempDir folder;
  const std::string path = folder.path() / "volume";
  value_of(Volume::create(path, TestFilesystem::settings()));

  const Outcome outcome = report_with({"-o", "-", path});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("There is no history yet"));
}

TEST(RunReport, AFailureKeepsTheOldPage) {
  const TempDir folder;
  const std::string file = folder.path() / "report.html";
  std::ofstream(file) << "old";

  EXPECT_EQ(report_with({(folder.path() / "missing").string(), "-o", file}).exit_code, 2);
  EXPECT_EQ(file_text(file), "old");
  const ClosedVolume volume;
  EXPECT_EQ(report_with({volume.path(), "-o", (folder.path() / "no" / "such.html").string()}).exit_code, 2);
}

TEST(RunReport, SaysAsJsonWhatItWrote) {
  const ClosedVolume volume;
  const TempDir folder;
  const std::string file = folder.path() / "report.html";

  const Outcome outcome = report_with({"--json", volume.path(), "-o", file});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("output"), file);
  EXPECT_EQ(json.at("written_bytes"), file_text(file).size());
  EXPECT_EQ(report_with({"--json", volume.path(), "-o", "-"}).exit_code, 1);
}

TEST(RunReport, NeedsAFile) {
  EXPECT_EQ(report_with({"/backup"}).exit_code, 1);
  EXPECT_EQ(report_with({"/backup", "-o", ""}).exit_code, 1);
}

}  // namespace
}  // namespace dedupfs::tools
