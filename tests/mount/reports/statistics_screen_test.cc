#include "mount/reports/statistics_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "mount/reports/statistics_report.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// One file of 100 MiB that takes 25 MiB.
Statistics quarter() {
  Statistics found;
  found.files = 1;
  found.directories = 1;
  found.logical_bytes = 100 << 20;
  found.unique_bytes = found.after_delta_bytes = found.stored_bytes = 20 << 20;
  found.chunks = 50;
  found.unique_chunks = 10;
  found.index_bytes = 5 << 20;
  found.disk_bytes = 25 << 20;
  return found;
}

nlohmann::json json_of(const Statistics& statistics, const ScrubStatus& scrub = {}) {
  Superblock superblock;
  superblock.chunker = "fixed:size=4k";
  superblock.label = "name";
  superblock.delta = *parse_delta_settings(kDefaultDeltaSettings);
  return statistics_json(statistics, superblock, scrub, {}, true);
}

std::string short_screen(const Statistics& statistics, const ScrubStatus& scrub = {}) {
  return statistics_screen(json_of(statistics, scrub));
}

ScrubStatus scrubbed(bool complete) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  ScrubStatus scrub;
  scrub.last.emplace();
  scrub.last->ended_unix_seconds = 1767571200;
  scrub.last->complete = complete;
  return scrub;
}

TEST(StatisticsScreen, OpensWithWhatTheVolumeHoldsTakesAndSuffers) {
  EXPECT_THAT(short_screen(quarter()), StartsWith("Holds   1 file, 100.00 MiB in total\n"
                                                  "Takes   25.00 MiB on disk: 75.0 % saved\n"
                                                  "Health  no damage known; never scrubbed: run dedupfs-scrub\n"
                                                  "\n"));
}

TEST(StatisticsScreen, CountsSnapshotsWhereThereAreAny) {
  Statistics found = quarter();
  found.files = 7;

  found.snapshots = 1;
  EXPECT_THAT(short_screen(found), StartsWith("Holds   7 files, 100.00 MiB in total (and 1 snapshot)\n"));
  found.snapshots = 2;
  EXPECT_THAT(short_screen(found), HasSubstr("(and 2 snapshots)\n"));
}

TEST(StatisticsScreen, SavesNothingWhereTheDiskHoldsMore) {
  EXPECT_THAT(short_screen(Statistics{.disk_bytes = 4096}), HasSubstr("Takes   4.00 KiB on disk\n"));
}

TEST(StatisticsScreen, HealthNamesDamageAndTheRemedy) {
  Statistics found = quarter();
  found.damaged_chunks = 3;
  EXPECT_THAT(short_screen(found), HasSubstr("Health  DAMAGED: 3 chunks cannot be read (fsck.dedupfs "));

  ScrubStatus scrub = scrubbed(true);
  scrub.last->other_damage = 1;
  EXPECT_THAT(short_screen(quarter(), scrub),
              HasSubstr("Health  DAMAGED: the last scrub found 1 error (see the log, "));
}

TEST(StatisticsScreen, HealthNamesTheLastScrub) {
  EXPECT_THAT(short_screen(quarter(), scrubbed(true)),
              HasSubstr("Health  no damage known; last scrubbed 2026-01-05 00:00\n"));
  EXPECT_THAT(short_screen(quarter(), scrubbed(false)), HasSubstr("; the last scrub was stopped: run dedupfs-scrub\n"));
  ScrubStatus running;
  running.running = true;
  running.current.emplace();
  EXPECT_THAT(short_screen(quarter(), running), HasSubstr("; a scrub is running\n"));
}

TEST(StatisticsScreen, TheSharesMakeUpTheDiskSpace) {
  Statistics found = quarter();
  found.base_only_bytes = 1 << 20;
  found.snapshot_only_bytes = 2 << 20;
  found.garbage_bytes = 3 << 20;
  found.other_bytes = 4 << 20;

  const std::string screen = short_screen(found);

  for (const auto* row : {"Files          21.00 MiB  ", "Snapshots       2.00 MiB  ", "Garbage         3.00 MiB  ",
                          "Index           5.00 MiB  ", "Other           4.00 MiB  "})
    EXPECT_THAT(screen, HasSubstr(row));
}

TEST(StatisticsScreen, EachStepIsShownOnlyInFull) {
  const nlohmann::json json = json_of(quarter());
  const std::string full = statistics_screen(json, ScreenDetail::kFull);

  EXPECT_THAT(full, StartsWith("Holds   1 file"));
  for (const auto* part : {"fixed:size=4k", "delta odess+:depth=8", "\"name\"", "mounted", "in 50 chunks", "5.00 : 1",
                           "DCR", "SCR", "DCE", "+ index", "4.00 : 1 in total, 75.0 % saved"}) {
    EXPECT_THAT(full, HasSubstr(part));
    EXPECT_THAT(statistics_screen(json), Not(HasSubstr(part)));
  }
}

TEST(StatisticsScreen, FiltersThatOutgrowTheMemoryOfTheIndexComeWithTheRemedy) {
  Statistics found = quarter();
  EXPECT_THAT(short_screen(found), Not(HasSubstr("index_mem")));

  found.index_filters = Database::filter_memory_of(400 << 20, 256 << 20);

  EXPECT_THAT(short_screen(found), HasSubstr("index_mem=768m"));
}

TEST(StatisticsScreen, MuchGarbageComesWithTheRemedy) {
  Statistics found = quarter();
  found.disk_bytes = 1000 << 20;

  found.garbage_bytes = 99 << 20;
  EXPECT_THAT(short_screen(found), Not(HasSubstr("run dedupfs-gc")));
  found.garbage_bytes = 100 << 20;
  EXPECT_THAT(short_screen(found), HasSubstr("10 % of the disk space, run dedupfs-gc"));
}

TEST(StatisticsScreen, HealedChunksAreCounted) {
  Statistics found = quarter();
  found.healed_chunks = 5;

  EXPECT_THAT(short_screen(found), HasSubstr("Damage: 0 chunks cannot be read; 5 healed since the mount"));
}

TEST(StatisticsScreen, ReclaimsAreShownWhereThereCanBeAny) {
  const nlohmann::json writable = statistics_json(quarter(), {}, {}, ReclaimStatus(), true);

  EXPECT_THAT(statistics_screen(writable), HasSubstr("Last reclaim: none since the mount"));
  EXPECT_THAT(short_screen(quarter()), Not(HasSubstr("eclaim")));
}

TEST(StatisticsScreen, TheLineForNfsIsShownInFull) {
  nlohmann::json json = json_of(quarter());
  json["nfs_export"] = "/backup *(rw)";

  EXPECT_THAT(statistics_screen(json, ScreenDetail::kFull), HasSubstr("/etc/exports: /backup *(rw)\n"));
  EXPECT_THAT(statistics_screen(json), Not(HasSubstr("exports")));
}

TEST(StatisticsScreen, TellsTheGenerationOfAnEncryptedVolume) {
  nlohmann::json json = statistics_json(quarter(), {}, {}, {}, false);
  EXPECT_THAT(statistics_screen(json, ScreenDetail::kFull), Not(HasSubstr("Encrypted")));
  json["encryption"] = {{"generation", 12}, {"unmounted_unix_seconds", 1'700'000'000}, {"unmounted", nullptr}};
  EXPECT_THAT(statistics_screen(json, ScreenDetail::kFull),
              HasSubstr("\nEncrypted, generation 12, unmounted 2023-11-1"));
  json["mounted"] = true;
  EXPECT_THAT(statistics_screen(json, ScreenDetail::kFull), HasSubstr("before this mount unmounted 2023-11-1"));
  json["encryption"]["unmounted_unix_seconds"] = nullptr;
  EXPECT_THAT(statistics_screen(json, ScreenDetail::kFull), HasSubstr("generation 12, which was not closed"));
}

}  // namespace
}  // namespace dedupfs
