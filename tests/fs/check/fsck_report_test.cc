// The report of fsck.dedupfs, for people and for programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fs/check/fsck.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::Not;

FsckReport sound() {
  FsckReport report;
  report.inodes = 9;
  report.directories = 3;
  report.chunks = 50;
  report.references = 70;
  return report;
}

LostFile lost_file() {
  return {.inode = 7, .paths = {"/a", "/b"}, .ranges = {{0, 100, "chunk 1 is missing"}, {500, 20, "damaged"}}};
}

TEST(FsckReport, TheSummaryOfASoundVolumeIsALine) {
  EXPECT_EQ(summary_of(sound(), "/srv/v"), "/srv/v: 9 inodes (3 directories), 50 chunks, 70 references: clean\n");
}

TEST(FsckReport, TheSummarySaysWhatBecameOfTheVolume) {
  FsckReport report = sound();
  report.repairs = 2;
  EXPECT_THAT(summary_of(report, "/srv/v"), HasSubstr("references: repaired\n"));
  report.errors_left = 3;
  EXPECT_THAT(summary_of(report, "/srv/v"), HasSubstr("references: 3 errors\n"));
  report.errors_left = 0;
  report.lost_files = {lost_file()};
  EXPECT_THAT(summary_of(report, "/srv/v"), HasSubstr("references: sound, except for lost content\n"));
}

TEST(FsckReport, TheSummaryCountsWhatIsLost) {
  FsckReport report = sound();
  EXPECT_THAT(summary_of(report, "/srv/v"), Not(HasSubstr("lost")));
  report.lost_files = {lost_file(), lost_file()};
  EXPECT_THAT(summary_of(report, "/srv/v"), testing::StartsWith("/srv/v: 2 files have lost 240 bytes;"));
}

TEST(FsckReport, TheDocumentHasAllThatTheReportHas) {
  FsckReport report = sound();
  report.lines = {"error: inode 7: no: colons matter not", "lost: inode 7 at 0"};
  report.errors_found = 4;
  report.errors_left = 1;
  report.repairs = 3;
  report.lost_files = {lost_file()};

  const auto json = to_json(report, "/srv/v");

  EXPECT_EQ(json["volume"], "/srv/v");
  ASSERT_EQ(json["findings"].size(), 2u);
  EXPECT_EQ(json["findings"][0]["kind"], "error");
  EXPECT_EQ(json["findings"][0]["text"], "inode 7: no: colons matter not");
  EXPECT_EQ(json["findings"][1]["kind"], "lost");
  ASSERT_EQ(json["lost_files"].size(), 1u);
  const auto& lost = json["lost_files"][0];
  EXPECT_EQ(lost["inode"], 7);
  EXPECT_EQ(lost["paths"], (nlohmann::json{"/a", "/b"}));
  EXPECT_EQ(lost["lost_bytes"], 120);
  EXPECT_EQ(lost["ranges"][1], (nlohmann::json{{"offset", 500}, {"length", 20}, {"why", "damaged"}}));
  EXPECT_EQ(json["totals"], (nlohmann::json{{"inodes", 9},
                                            {"directories", 3},
                                            {"chunks", 50},
                                            {"references", 70},
                                            {"errors_found", 4},
                                            {"errors_left", 1},
                                            {"repairs", 3}}));
  EXPECT_EQ(json["exit_status"], kFsckCorrected | kFsckErrorsLeft);
}

TEST(FsckReport, ADocumentWithoutFindingsHasEmptyLists) {
  const auto json = to_json(sound(), "/srv/v");

  EXPECT_EQ(json["findings"], nlohmann::json::array());
  EXPECT_EQ(json["lost_files"], nlohmann::json::array());
  EXPECT_EQ(json["exit_status"], 0);
}

TEST(FsckReport, NamesThatAreNoTextMakeAValidDocument) {
  FsckReport report = sound();
  report.lines = {"lost: /a\xff"};
  report.lost_files = {{.inode = 7, .paths = {"/a\xff\n\"b"}, .ranges = {}}};

  const auto json = nlohmann::json::parse(
      to_json(report, "/srv/\xfe").dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));

  EXPECT_EQ(json["lost_files"][0]["paths"][0], "/a\xef\xbf\xbd\n\"b");
}

}  // namespace
}  // namespace dedupfs
