#include "mount/reports/scrub_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

namespace dedupfs {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ScrubReportTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }

  static ScrubFindings findings() {
    return {.started_unix_seconds = 1767571100,
            .ended_unix_seconds = 1767571200,  // 2026-01-05 00:00
            .checked_bytes = 3 << 20,
            .complete = true};
  }
};

TEST_F(ScrubReportTest, WithoutOneItSaysHowToStartOne) {
  const auto json = scrub_json({});

  EXPECT_EQ(json.at("running"), false);
  EXPECT_TRUE(json.at("current").is_null());
  EXPECT_TRUE(json.at("last").is_null());
  EXPECT_TRUE(json.at("checked_bytes_per_second").is_null());
  EXPECT_EQ(scrub_screen(json), "Last scrub: never (dedupfs-scrub MOUNTPOINT starts one)\n");
}

TEST_F(ScrubReportTest, TheLastOneHasItsTimeAndItsResult) {
  const auto json = scrub_json({.last = findings()});

  EXPECT_EQ(json.at("last").at("checked_bytes"), 3 << 20);
  EXPECT_EQ(json.at("last").at("complete"), true);
  EXPECT_EQ(scrub_screen(json), "Last scrub: 2026-01-05 00:00; 3.00 MiB checked, no damage\n");
}

TEST_F(ScrubReportTest, ARunningOneHasItsProgressBeforeTheLastOne) {
  const auto json = scrub_json(
      {.running = true, .progress = 0.25, .seconds_left = 7, .checked_bytes_per_second = 1e6, .current = findings()});

  EXPECT_EQ(json.at("progress_percent"), 25.0);
  EXPECT_EQ(json.at("seconds_left"), 7);
  EXPECT_EQ(json.at("checked_bytes_per_second"), 1e6);
  EXPECT_THAT(scrub_screen(json), StartsWith("Scrub running: 25 %, about 7 s left; 3.00 MiB checked, no damage\n"
                                             "Last scrub: never"));
}

TEST_F(ScrubReportTest, DamageIsCountedWithTheRemedy) {
  ScrubFindings damaged = findings();
  damaged.damaged_chunks = 2;
  damaged.other_damage = 1;

  EXPECT_THAT(scrub_screen(scrub_json({.last = damaged})),
              HasSubstr("2 DAMAGED CHUNKS, 1 other errors (see the log, run fsck.dedupfs)"));
}

TEST_F(ScrubReportTest, DamagedFilesAreNamed) {
  const auto json = scrub_json({.last = findings()}, DamagedFileNames{.names = {"/a", "/b\nc"}, .more = 3});

  EXPECT_EQ(json.at("damaged_files"), nlohmann::json({"/a", "/b\nc"}));
  EXPECT_EQ(json.at("more_damaged_files"), 3);
  EXPECT_THAT(scrub_screen(json), EndsWith("\nDamaged: /a\nDamaged: /b\\nc\nDamaged: 3 files more\n"));
}

TEST_F(ScrubReportTest, DamagedFilesThatNobodyKnowsAreNotNamed) {
  const auto json = scrub_json({.last = findings()}, std::nullopt);

  EXPECT_EQ(json.at("damaged_files"), nullptr);
  EXPECT_EQ(json.at("more_damaged_files"), nullptr);
  EXPECT_THAT(scrub_screen(json), Not(HasSubstr("Damaged:")));
}

TEST_F(ScrubReportTest, WhatEverybodyMayAskNamesNoFile) {
  EXPECT_FALSE(scrub_json({.last = findings()}).contains("damaged_files"));
}

TEST_F(ScrubReportTest, OneThatWasStoppedIsNotComplete) {
  ScrubFindings stopped = findings();
  stopped.complete = false;

  EXPECT_THAT(scrub_screen(scrub_json({.last = stopped})), HasSubstr("00:00, stopped early; "));
}

}  // namespace
}  // namespace dedupfs
