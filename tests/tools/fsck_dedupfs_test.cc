#include "fsck_dedupfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "outcome.h"
#include "served_volume.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Outcome fsck(const std::vector<std::string>& arguments, const Process& process = {}) {
  return outcome_of(run_fsck, arguments, process);
}

TEST(RunFsck, ASoundVolumeHasNoErrors) {
  const ClosedVolume volume;

  const Outcome outcome = fsck({"--verify-data", volume.path()});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(volume.path()), Not(HasSubstr("error:"))));
}

TEST(RunFsck, JsonHasTheDocumentedMembers) {
  const ClosedVolume volume;

  const Outcome outcome = fsck({"-n", "--json", volume.path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("exit_status"), 0);
  for (const char* key : {"findings", "lost_files", "totals"}) EXPECT_TRUE(json.contains(key)) << key;
}

TEST(RunFsck, ProgressIsJsonLinesWithTheResultLast) {
  const ClosedVolume volume;

  const Outcome outcome = fsck({"-n", "--json", "--progress", volume.path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string first = outcome.out.substr(0, outcome.out.find('\n'));
  const std::string last = outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2) + 1);
  EXPECT_EQ(nlohmann::json::parse(first).at("event"), "progress");
  EXPECT_THAT(nlohmann::json::parse(first).at("stage").get<std::string>(), StartsWith("pass_"));
  EXPECT_EQ(nlohmann::json::parse(last).at("event"), "result");
  EXPECT_EQ(nlohmann::json::parse(last).at("exit_status"), 0);
}

TEST(RunFsck, DamageIsPrintedAndLeft) {
  const ClosedVolume volume;
  damage_containers(volume.path());

  const Outcome outcome = fsck({"-n", "--verify-data", volume.path()});
  const Outcome json = fsck({"-n", "--verify-data", "--json", volume.path()});

  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, HasSubstr("error: "));
  EXPECT_EQ(json.exit_code, 4);
  EXPECT_FALSE(nlohmann::json::parse(json.out).at("findings").empty());
}

TEST(RunFsck, RepairsWhatIsAskedFor) {
  const ClosedVolume volume;
  std::filesystem::remove_all(volume.path() + "/index");

  EXPECT_EQ(fsck({"-n", volume.path()}).exit_code, 4);
  EXPECT_EQ(fsck({"-y", volume.path()}).exit_code & 1, 1) << "errors were corrected";
  EXPECT_EQ(fsck({"-n", volume.path()}).exit_code & ~4, 0) << "files may have lost content";
}

TEST(RunFsck, TakesOneMode) {
  const Outcome outcome = fsck({"-n", "-y", "/volume"});

  EXPECT_EQ(outcome.exit_code, 16);
  EXPECT_THAT(outcome.err, HasSubstr("at most 1"));
}

TEST(RunFsck, AMissingVolumeIsNamed) {
  const TempDir folder;
  const std::string missing = folder.path() / "missing";

  const Outcome outcome = fsck({missing});

  EXPECT_EQ(outcome.exit_code, 8);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("fsck.dedupfs: "), HasSubstr(missing)));
}

TEST(RunFsck, AVolumeInUseIsRefused) {
  TestFilesystem filesystem;

  const Outcome outcome = fsck({filesystem.path().string()});

  EXPECT_EQ(outcome.exit_code, 8);
  EXPECT_THAT(outcome.err, HasSubstr("in use"));
}

TEST(RunFsck, ProgressNeedsADescriptorThatIsOpenForWriting) {
  const int read_only = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (const std::string& descriptor : {std::string("777"), std::to_string(read_only)}) {
    const Outcome outcome = fsck({"-C", descriptor, "/volume"});

    EXPECT_EQ(outcome.exit_code, 16);
    EXPECT_EQ(outcome.err, "fsck.dedupfs: -C " + descriptor + ": this file descriptor is not open for writing\n");
  }
  ::close(read_only);
}

TEST(RunFsck, ProgressIsALineOfPassAndCount) {
  const ClosedVolume volume;
  const TempDir folder;
  const std::string file = folder.path() / "progress";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

  EXPECT_EQ(fsck({"-C", std::to_string(descriptor), volume.path()}).exit_code, 0);

  ::close(descriptor);
  std::ifstream progress(file);
  int pass = 0;
  std::uint64_t current = 0, max = 0;
  std::string of;
  ASSERT_TRUE(progress >> pass >> current >> max >> of);
  EXPECT_EQ(pass, 1);
  EXPECT_LE(current, max);
  EXPECT_EQ(of, volume.path());
}

TEST(RunFsck, ProgressOnATerminalIsABarThatIsRemoved) {
  const ClosedVolume volume;
  Process process;
  EXPECT_THAT(fsck({"-C", "0", volume.path()}, process).err, Not(HasSubstr("pass")));

  process.err_is_terminal = true;
  const Outcome outcome = fsck({"-C", "0", volume.path()}, process);

  EXPECT_THAT(outcome.err, AllOf(HasSubstr("\rpass 1 |"), testing::EndsWith("\r\x1b[K")));
}

TEST(RunFsck, ASignalCancelsIt) {
  const ClosedVolume volume;
  bool are_signals_caught = false;
  Process process;
  process.catch_stop_signals = [&] { are_signals_caught = true; };
  process.stop_was_asked_for = [&] { return are_signals_caught; };

  const Outcome outcome = fsck({volume.path()}, process);

  EXPECT_EQ(outcome.exit_code, 32);
  EXPECT_THAT(outcome.err, HasSubstr("cancelled"));
}

TEST(RunFsck, RebuildsTheSimilarityIndex) {
  const ClosedVolume volume;

  const Outcome outcome = fsck({"--rebuild-features", volume.path()});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::ContainsRegex("similarity index is rebuilt: [1-9][0-9]* chunks"));
  EXPECT_EQ(fsck({"--rebuild-features", "-y", volume.path()}).exit_code, 16);
}

TEST(RunFsck, FailsIfItsOutputCannotBeWritten) {
  const ClosedVolume volume;

  EXPECT_EQ(outcome_on_full_disk(run_fsck, {volume.path()}, Process()).exit_code, 8);
}

}  // namespace
}  // namespace dedupfs::tools
