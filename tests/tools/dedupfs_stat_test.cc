#include "dedupfs_stat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include "manual.h"
#include "mount/reports/share_report.h"
#include "mount/reports/statistics_report.h"
#include "outcome.h"
#include "served_volume.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(RunStat, OpensWithThreeLines) {
  const ClosedVolume volume;

  const Outcome outcome = outcome_of(run_stat, {volume.path()});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::ContainsRegex("^Holds   2 files, 2.00 MiB in total\n"
                                                  "Takes   [0-9.]+ .iB on disk.*\n"
                                                  "Health  no damage known; never scrubbed: run dedupfs-scrub\n\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("DCR")));
  EXPECT_EQ(outcome.err, "");
}

TEST(RunStat, VerboseShowsEachStep) {
  const ClosedVolume volume;

  const Outcome outcome = outcome_of(run_stat, {"-v", volume.path()});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("Holds   2 files"));
  for (const auto* part : {"Chunker ", "Logical", "Unique", "DCR", "SCR", "DCE", "Stored", "= disk"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
}

TEST(RunStat, JsonHasExactNumbers) {
  const ClosedVolume volume;

  const Outcome outcome = outcome_of(run_stat, {"--json", volume.path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("logical_bytes"), 2 * kFileBytes);
  EXPECT_EQ(json.at("files"), 2);
  EXPECT_EQ(json.at("mounted"), false);
  EXPECT_TRUE(json.at("nfs_export").is_null());
  for (const char* key :
       {"hole_bytes", "unique_bytes", "stored_bytes", "disk_bytes", "savings_percent", "uuid", "scrub"})
    EXPECT_TRUE(json.contains(key)) << key;
}

TEST(RunStat, PrintsMetricsForPrometheus) {
  const ClosedVolume volume;

  const Outcome outcome = outcome_of(run_stat, {"--prometheus", "-", volume.path()});

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("\ndedupfs_files{volume=\"" + volume.path() + "\",mountpoint=\"\"} 2\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\ndedupfs_mounted{volume=\"" + volume.path() + "\",mountpoint=\"\"} 0\n"));
}

// As in a line of cron whose variable is not set.
TEST(RunStat, AnEmptyNameOfAFileIsAWrongArgument) {
  const ClosedVolume volume;
  for (const std::string option : {"--prometheus", "--openmetrics"}) {
    const Outcome outcome = outcome_of(run_stat, {option, "", volume.path()});

    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(option + ": it is empty"));
  }
}

TEST(RunStat, WritesNoMetricsOfAVolumeThatIsNotThere) {
  const TempDir folder;
  const auto file = folder.path() / "metrics.prom";

  const Outcome outcome = outcome_of(run_stat, {"--prometheus", file.string(), (folder.path() / "missing").string()});

  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(RunStat, AsksTheDaemonOfAVolumeInUse) {
  ServedVolume volume;
  volume.filesystem().make_file(kRootInode, "new", random_text(kFileBytes, 3));

  const Outcome outcome = outcome_of(run_stat, {"--json", volume.path()});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("mounted"), true);
  EXPECT_EQ(json.at("files"), 3) << "the daemon commits first";
  EXPECT_EQ(json.at("reclaim").at("running"), false);
}

TEST(RunStat, TheManualNamesEachKey) {
  const ServedVolume volume;
  const std::string manual = manual_text("dedupfs-stat.1");

  const auto json = nlohmann::json::parse(outcome_of(run_stat, {"--json", volume.path()}).out);
  nlohmann::json file = file_statistics_json({{}})[0];
  const nlohmann::json folder = folder_shares_json({{{}}})[0][0];

  EXPECT_EQ(keys_missing_in(manual, json), "");
  EXPECT_EQ(keys_missing_in(manual, file), "");
  EXPECT_EQ(keys_missing_in(manual, deletion_json({})), "");
  EXPECT_EQ(keys_missing_in(manual, folder), "");
}

TEST(RunStat, NamesWhatIsNoVolume) {
  const TempDir folder;
  const std::string missing = folder.path() / "missing";

  const Outcome none = outcome_of(run_stat, {missing});
  const Outcome other = outcome_of(run_stat, {folder.path().string()});

  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, AllOf(StartsWith("dedupfs-stat: " + missing), HasSubstr("o such file")));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, AllOf(HasSubstr(folder.path().string()), HasSubstr("volume")));
}

TEST(RunStat, AFileNeedsAMountedVolume) {
  const ClosedVolume volume;

  const Outcome outcome = outcome_of(run_stat, {"--json", "--file", volume.path() + "/superblock.json", "/missing"});

  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("superblock.json"), HasSubstr("mount its volume"), HasSubstr("/missing")));
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("files"), nlohmann::json::array());
  EXPECT_EQ(json.at("failures").size(), 2u);
}

TEST(RunStat, WhatASnapshotFreesIsKnownWithoutAMount) {
  ClosedVolume volume;
  volume.filesystem().open();
  EXPECT_TRUE(ok(volume.filesystem()->create_snapshot("monday")));
  delete_other(volume.filesystem());
  volume.filesystem().close();

  const Outcome outcome = outcome_of(run_stat, {"--json", "--freed", "--snapshot", "monday", volume.path()});
  const Outcome missing = outcome_of(run_stat, {"--freed", "--snapshot", "friday", volume.path()});
  const Outcome seen =
      outcome_of(run_stat, {"--freed", "--snapshot", "monday", volume.path()}, Process{.err_is_terminal = true});

  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NEAR(nlohmann::json::parse(outcome.out).at("freed_bytes").get<double>(), kFileBytes, 0.02 * kFileBytes);
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("there is no snapshot 'friday'"));
  EXPECT_THAT(seen.err, HasSubstr("counting what a deletion would free"));
  EXPECT_EQ(outcome.err, "");
}

TEST(RunStat, TheDaemonSaysWhatASnapshotFrees) {
  ServedVolume volume;
  EXPECT_TRUE(ok(volume.filesystem()->create_snapshot("monday")));

  const Outcome outcome = outcome_of(run_stat, {volume.path(), "--freed", "--snapshot", "monday"});

  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("Frees  0 B: what only these have of 2.0"));
}

TEST(RunStat, SetsAndTreesNeedAMountedVolume) {
  const ClosedVolume volume;

  for (const std::string option : {"--freed", "--tree"}) {
    const Outcome outcome = outcome_of(run_stat, {option, volume.path() + "/containers"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("mount its volume"));
  }
  EXPECT_THAT(outcome_of(run_stat, {"--freed"}).err, HasSubstr("--snapshot NAME"));
  EXPECT_THAT(outcome_of(run_stat, {"--snapshot", "monday", volume.path()}).err, HasSubstr("--freed"));
}

TEST(RunStat, TakesAVolumeOrFiles) {
  EXPECT_THAT(outcome_of(run_stat, {"/volume", "--file", "/file"}).err, HasSubstr("excludes"));
  EXPECT_THAT(outcome_of(run_stat, {}).err, HasSubstr("--file"));
}

TEST(RunStat, FailsIfItsOutputCannotBeWritten) {
  const ClosedVolume volume;

  EXPECT_EQ(outcome_on_full_disk(run_stat, {volume.path()}).exit_code, 1);
}

}  // namespace
}  // namespace dedupfs::tools
