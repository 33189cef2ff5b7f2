#include "mkfs_dedupfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "chunkers/registry.h"
#include "delta/resemblance.h"
#include "manual.h"
#include "outcome.h"
#include "served_volume.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class MkfsTest : public testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "volume").string(); }

  TempDir folder_;
};

TEST_F(MkfsTest, CreatesAVolumeAndSaysHowToMountIt) {
  const Outcome outcome = outcome_of(run_mkfs, {path()});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("Created a volume in " + path()), HasSubstr("dedupfs " + path())));
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(ok(Volume::open(path(), {})));
}

TEST_F(MkfsTest, JsonHasTheProperties) {
  const Outcome outcome = outcome_of(run_mkfs, {"--json", "--label", "mine", "--settled", "none", path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("volume"), path());
  EXPECT_EQ(json.at("label"), "mine");
  EXPECT_EQ(json.at("compression"), "none");
  EXPECT_EQ(json.at("uuid"), value_of(Volume::open(path(), {}))->superblock().uuid);
  EXPECT_EQ(keys_missing_in(manual_text("mkfs.dedupfs.8"), json), "");
}

TEST_F(MkfsTest, AnErrorIsJsonToo) {
  outcome_of(run_mkfs, {path()});

  const Outcome outcome = outcome_of(run_mkfs, {"--json", path()});

  EXPECT_EQ(outcome.exit_code, 8);
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("error").at("exit_code"), 8);
}

// Somebody who gives a key believes that the volume will be encrypted.
TEST_F(MkfsTest, AKeyWithoutEncryptMakesNoVolume) {
  for (const std::string option : {"--key-file", "--passphrase-command", "--keyring"}) {
    const Outcome outcome = outcome_of(run_mkfs, {option, "name", path()});

    EXPECT_EQ(outcome.exit_code, 16) << option;
    EXPECT_THAT(outcome.err, HasSubstr("--encrypt")) << option;
    EXPECT_FALSE(std::filesystem::exists(path())) << option;
  }
}

TEST_F(MkfsTest, OptionsStayWithTheVolume) {
  const Outcome outcome = outcome_of(run_mkfs, {"--chunker", "fixed:size=4k", "--compression", "none", "--delta",
                                                "none", "--region", "64k", "--label", "mine", path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto volume = value_of(Volume::open(path(), {}));
  EXPECT_THAT(volume->superblock().chunker, StartsWith("fixed:"));
  EXPECT_EQ(format_compression(volume->superblock().compression.settled), "none");
  EXPECT_EQ(format_delta_settings(volume->superblock().delta), "none");
  EXPECT_EQ(volume->superblock().region_bytes, 64u << 10);
  EXPECT_EQ(volume->superblock().label, "mine");
}

TEST_F(MkfsTest, ABadValueIsNamedWithWhatIsAllowed) {
  struct Case {
    std::string option, value, remedy;
  };
  for (const Case& bad : {Case{"--chunker", "nosuch", "gear16"},
                          {"--compression", "brotli", "zstd"},
                          {"--delta", "warp", "odess+"},
                          {"--region", "1", "4k to 4m"},
                          {"--region", "much", "--region"}}) {
    const Outcome outcome = outcome_of(run_mkfs, {bad.option, bad.value, path()});

    EXPECT_EQ(outcome.exit_code, 16) << bad.value;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("mkfs.dedupfs: "), HasSubstr(bad.value), HasSubstr(bad.remedy)));
    EXPECT_EQ(outcome.out, "");
    EXPECT_FALSE(std::filesystem::exists(path())) << bad.value;
  }
}

TEST_F(MkfsTest, AFolderThatIsNotEmptyStaysAsItIs) {
  std::filesystem::create_directories(path() + "/precious");

  const Outcome outcome = outcome_of(run_mkfs, {path()});

  EXPECT_EQ(outcome.exit_code, 8);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(path()), HasSubstr("not empty")));
  EXPECT_TRUE(std::filesystem::is_empty(path() + "/precious"));
}

TEST_F(MkfsTest, ALabelIsOneShortLine) {
  EXPECT_EQ(outcome_of(run_mkfs, {"-L", std::string(256, 'x'), path()}).exit_code, 16);
  const Outcome lines = outcome_of(run_mkfs, {"-L", "two\nlines", path()});
  EXPECT_EQ(lines.exit_code, 16);
  EXPECT_THAT(lines.err, HasSubstr("the label has a line break"));
  EXPECT_FALSE(std::filesystem::exists(path()));

  const std::string longest(255, 'x');
  EXPECT_EQ(outcome_of(run_mkfs, {"-L", longest, path()}).exit_code, 0);
  EXPECT_EQ(value_of(Volume::open(path(), {}))->superblock().label, longest);
}

TEST_F(MkfsTest, AnEmptyPathIsAWrongArgument) {
  const Outcome outcome = outcome_of(run_mkfs, {""});

  EXPECT_EQ(outcome.exit_code, 16);
  EXPECT_THAT(outcome.err, HasSubstr("VOLUME: it is empty"));
}

TEST_F(MkfsTest, FailsIfItsOutputCannotBeWritten) {
  EXPECT_EQ(outcome_on_full_disk(run_mkfs, {path()}).exit_code, 8);
}

TEST_F(MkfsTest, HelpListsChunkersAndDeltaMethods) {
  const Outcome outcome = outcome_of(run_mkfs, {"--help"});

  for (const ChunkerInfo& info : chunker_infos()) EXPECT_THAT(outcome.out, HasSubstr("\n  " + std::string(info.name)));
  for (const ResemblanceMethodInfo& info : resemblance_method_infos())
    EXPECT_THAT(outcome.out, HasSubstr("\n  " + std::string(info.name)));
}

}  // namespace
}  // namespace dedupfs::tools
