#include "mount/reports/reclaim_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/units.h"

namespace dedupfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ReclaimFindings findings() {
  return {.live_chunks = 1000,
          .erased_chunks = 500,
          .emptied_containers = 4,
          .emptied_bytes = 256 * kMiB,
          .moved_bytes = 56 * kMiB,
          .garbage_bytes = 3 * kMiB};
}

ReclaimStatus copying_forward() {
  ReclaimStatus status;
  status.running = true;
  status.phase = ReclaimPhase::kCopyForward;
  status.progress = 0.25;
  status.phase_seconds = 4;
  status.seconds = 9;
  status.current = findings();
  return status;
}

ReclaimStatus ended(std::optional<Error> error) {
  ReclaimStatus status;
  status.last = ReclaimStatus::Ended{.findings = findings(), .seconds = 12, .error = std::move(error)};
  status.freed_bytes = 200 * kMiB;
  return status;
}

TEST(ReclaimReport, RunningOneHasPhaseRateAndTimeLeft) {
  const auto json = reclaim_json(copying_forward());

  EXPECT_EQ(json.at("running"), true);
  EXPECT_EQ(json.at("paused"), false);
  EXPECT_EQ(json.at("phase"), "sweep");
  EXPECT_EQ(json.at("progress_percent"), 25.0);
  EXPECT_EQ(json.at("seconds"), 9.0);
  EXPECT_EQ(json.at("seconds_left"), 12.0);
  EXPECT_EQ(json.at("swept_bytes_per_second"), 64.0 * kMiB);
  EXPECT_EQ(json.at("current").at("freed_bytes"), 200 * kMiB);
  EXPECT_EQ(json.at("last"), nullptr);
  EXPECT_EQ(reclaim_screen(json),
            "Reclaim running: copy forward 25 %, about 12 s left, 64.00 MiB/s; 200.00 MiB freed, 500 chunks erased, 4 "
            "containers "
            "emptied, 56.00 MiB moved\n");
}

TEST(ReclaimReport, FreedIsWhatWasSweptLessWhatWasMoved) {
  const auto last = reclaim_json(ended(std::nullopt)).at("last");

  EXPECT_EQ(last.at("swept_bytes"), 256 * kMiB);
  EXPECT_EQ(last.at("moved_bytes"), 56 * kMiB);
  EXPECT_EQ(last.at("freed_bytes"), 200 * kMiB);
}

TEST(ReclaimReport, DeltasThatAreStoredAnewAreCounted) {
  ReclaimStatus status = copying_forward();
  status.phase = ReclaimPhase::kRebase;
  status.current.rebased_chunks = 30;
  status.current.rebased_bytes = 2 * kMiB;

  const auto json = reclaim_json(status);

  EXPECT_EQ(json.at("phase"), "rebase");
  EXPECT_EQ(json.at("current").at("rebased_chunks"), 30);
  EXPECT_EQ(json.at("current").at("rebased_bytes"), 2 * kMiB);
  EXPECT_THAT(reclaim_screen(json), HasSubstr("500 chunks erased, 30 deltas re-encoded, 4 containers"));
}

TEST(ReclaimReport, OnlyASweepHasARate) {
  ReclaimStatus status = copying_forward();
  status.phase = ReclaimPhase::kMark;

  const auto json = reclaim_json(status);

  EXPECT_EQ(json.at("swept_bytes_per_second"), nullptr);
  EXPECT_THAT(reclaim_screen(json), AllOf(HasSubstr("mark 25 %"), Not(HasSubstr("/s"))));
}

TEST(ReclaimReport, SweepHasNoRateBeforeItHasEmptiedAContainer) {
  ReclaimStatus status = copying_forward();
  status.current.emptied_bytes = 0;
  status.current.moved_bytes = 0;

  const auto json = reclaim_json(status);

  EXPECT_EQ(json.at("swept_bytes_per_second"), nullptr);
  EXPECT_THAT(reclaim_screen(json), AllOf(HasSubstr("copy forward 25 %"), Not(HasSubstr("/s"))));
}

TEST(ReclaimReport, WhatIsShownAsDoneHasNoTimeLeft) {
  ReclaimStatus status = copying_forward();
  for (const double progress : {0.995, 1.0}) {
    status.progress = progress;

    const auto json = reclaim_json(status);

    EXPECT_EQ(json.at("seconds_left"), nullptr) << progress;
    EXPECT_THAT(reclaim_screen(json), AllOf(HasSubstr("copy forward 100 %"), Not(HasSubstr("left")))) << progress;
  }
  status.progress = 0.99;
  EXPECT_THAT(reclaim_screen(reclaim_json(status)), HasSubstr("copy forward 99 %, about 0 s left"));
}

TEST(ReclaimReport, WhereNoneRunsThereIsNoProgress) {
  for (const ReclaimStatus& status : {ReclaimStatus(), ended(std::nullopt)}) {
    const auto json = reclaim_json(status);

    for (const char* key : {"phase", "progress_percent", "seconds_left", "swept_bytes_per_second", "current"})
      EXPECT_EQ(json.at(key), nullptr) << key;
  }
}

TEST(ReclaimReport, WhatIsPausedHasNoTimeLeft) {
  ReclaimStatus status = copying_forward();
  status.paused = true;

  const auto json = reclaim_json(status);

  EXPECT_EQ(json.at("seconds_left"), nullptr);
  EXPECT_EQ(json.at("swept_bytes_per_second"), nullptr);
  EXPECT_THAT(reclaim_screen(json), StartsWith("Reclaim paused: copy forward 25 %; 200.00 MiB freed"));
}

TEST(ReclaimReport, LastOneSaysWhatItFreedAndLeft) {
  const auto json = reclaim_json(ended(std::nullopt));

  EXPECT_EQ(json.at("running"), false);
  EXPECT_EQ(json.at("phase"), nullptr);
  EXPECT_EQ(json.at("current"), nullptr);
  EXPECT_EQ(json.at("last").at("complete"), true);
  EXPECT_EQ(json.at("last").at("error"), nullptr);
  EXPECT_EQ(json.at("freed_bytes"), 200 * kMiB);
  EXPECT_EQ(
      reclaim_screen(json),
      "Last reclaim: 12 s; 200.00 MiB freed, 500 chunks erased, 4 containers emptied, 56.00 MiB moved, 3.00 MiB of "
      "garbage left\n");
}

TEST(ReclaimReport, LastOneSaysThatItLackedRoom) {
  ReclaimStatus status = ended(std::nullopt);
  status.last->findings.lacked_room = true;

  const auto json = reclaim_json(status);

  EXPECT_EQ(json.at("last").at("lacked_room"), true);
  EXPECT_THAT(reclaim_screen(json), HasSubstr("garbage left: too little disk space"));
}

TEST(ReclaimReport, StoppedIsNotFailed) {
  const auto stopped = reclaim_json(ended(Error{ErrorCode::kInterrupted, "the reclaim was stopped"}));
  const auto failed = reclaim_json(ended(Error{ErrorCode::kNoSpace, "the disk is full"}));

  EXPECT_EQ(stopped.at("last").at("complete"), false);
  EXPECT_EQ(stopped.at("last").at("error"), nullptr);
  EXPECT_THAT(reclaim_screen(stopped), StartsWith("Last reclaim: stopped after 12 s"));
  EXPECT_EQ(failed.at("last").at("complete"), false);
  EXPECT_EQ(failed.at("last").at("error"), "the disk is full");
  EXPECT_THAT(reclaim_screen(failed), AllOf(HasSubstr("FAILED after 12 s"), HasSubstr("the disk is full")));
}

TEST(ReclaimReport, WithoutAnyItSaysHowToStartOneAndThatNoneBeginsWhilePaused) {
  ReclaimStatus status;
  EXPECT_EQ(reclaim_screen(reclaim_json(status)),
            "Last reclaim: none since the mount (dedupfs-gc MOUNTPOINT starts one)\n");

  status.paused = true;
  EXPECT_THAT(reclaim_screen(reclaim_json(status)), HasSubstr("--resume"));
}

}  // namespace
}  // namespace dedupfs
