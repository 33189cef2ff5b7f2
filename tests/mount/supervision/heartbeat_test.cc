#include "mount/supervision/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Phase = Heartbeat::Phase;

struct HeartbeatTest : testing::Test {
  // What is told by the next beat; with `ticks` of processor time and perhaps a wait for the disk since the last one.
  std::string beat(std::uint64_t ticks, bool disk, std::optional<Heartbeat::Clock::duration> unanswered = {}) {
    told.clear();
    work.processor_ticks += ticks;
    work.waits_for_disk = disk;
    heartbeat.beat(unanswered);
    return told;
  }

  Heartbeat::Clock::time_point now = Heartbeat::Clock::now();
  ProcessWork work;
  std::string told;
  Heartbeat heartbeat{{.notify = [this](const std::string& assignments) { told += assignments; },
                       .work = [this] { return work; },
                       .now = [this] { return now; }}};
};

TEST_F(HeartbeatTest, OpeningGetsMoreTimeWhileItWorks) {
  heartbeat.enter(Phase::kOpening, "opening /volume");
  EXPECT_THAT(told, AllOf(HasSubstr("STATUS=opening /volume"), HasSubstr("EXTEND_TIMEOUT_USEC=60000000")));
  now += 12s;
  EXPECT_THAT(beat(1, false), AllOf(HasSubstr("EXTEND_TIMEOUT_USEC=60000000"), HasSubstr("(12 s so far)")));
  EXPECT_THAT(beat(0, true), AllOf(HasSubstr("EXTEND_TIMEOUT_USEC"), HasSubstr("waiting for the disk")));
}

TEST_F(HeartbeatTest, OpeningThatDoesNothingGetsNoMoreTime) {
  heartbeat.enter(Phase::kOpening, "opening /volume");
  beat(1, false);
  EXPECT_THAT(beat(0, false),
              AllOf(HasSubstr("without any work"), Not(HasSubstr("EXTEND")), Not(HasSubstr("WATCHDOG"))));
}

TEST_F(HeartbeatTest, AReadyDaemonThatAnswersIsAlive) {
  heartbeat.enter(Phase::kServing, "ready", "READY=1");
  EXPECT_EQ(told, "READY=1\nSTATUS=ready");
  EXPECT_EQ(beat(0, false), "WATCHDOG=1");
  EXPECT_EQ(beat(0, false, 1s), "WATCHDOG=1");
}

TEST_F(HeartbeatTest, AWaitForASlowDiskIsSaidAndSurvived) {
  heartbeat.enter(Phase::kServing, "ready");
  EXPECT_THAT(beat(0, true, 24h),
              AllOf(HasSubstr("WATCHDOG=1"), HasSubstr("waiting for the disk"), HasSubstr("86400 s")));
  EXPECT_EQ(beat(0, false), "WATCHDOG=1\nSTATUS=ready");
}

TEST_F(HeartbeatTest, WorkWithoutAnAnswerIsSurvivedForAWhile) {
  heartbeat.enter(Phase::kServing, "ready");
  EXPECT_THAT(beat(5, false, 60s), AllOf(HasSubstr("WATCHDOG=1"), HasSubstr("busy")));
  EXPECT_THAT(beat(5, false, Heartbeat::kLongestWork), Not(HasSubstr("WATCHDOG")));
}

TEST_F(HeartbeatTest, ADaemonThatNeitherAnswersNorWorksIsSilentAndSaysWhy) {
  heartbeat.enter(Phase::kServing, "ready");
  EXPECT_THAT(beat(0, false, 60s), AllOf(Not(HasSubstr("WATCHDOG")), HasSubstr("has not answered for 60 s")));
}

TEST_F(HeartbeatTest, TheSameStatusIsToldOnce) {
  heartbeat.enter(Phase::kServing, "ready");
  beat(0, false, 60s);
  EXPECT_THAT(beat(0, false, 60s), IsEmpty());
}

TEST_F(HeartbeatTest, TheStatusHasTheJobsWhileTheyRun) {
  heartbeat.enter(Phase::kServing, "ready");
  told.clear();
  heartbeat.note_jobs("scrub 43 %");
  EXPECT_EQ(told, "STATUS=ready; scrub 43 %");
  EXPECT_EQ(beat(0, false), "WATCHDOG=1") << "the same is not told again";
  told.clear();
  heartbeat.note_jobs("");
  EXPECT_EQ(told, "STATUS=ready");
}

TEST_F(HeartbeatTest, AWaitIsMoreImportantThanJobs) {
  heartbeat.enter(Phase::kServing, "ready");
  beat(0, true, 60s);
  told.clear();
  heartbeat.note_jobs("scrub 43 %");
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(beat(0, false), "WATCHDOG=1\nSTATUS=ready; scrub 43 %");
}

TEST_F(HeartbeatTest, JobsAreToldWhileItServesOnly) {
  heartbeat.enter(Phase::kOpening, "opening");
  told.clear();
  heartbeat.note_jobs("scrub 43 %");
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(HeartbeatTest, ClosingIsAPhaseOfItsOwn) {
  heartbeat.enter(Phase::kServing, "ready");
  now += 1h;
  heartbeat.enter(Phase::kClosing, "unmounting", "STOPPING=1");
  EXPECT_THAT(told, AllOf(HasSubstr("STOPPING=1\nEXTEND_TIMEOUT_USEC="), HasSubstr("STATUS=unmounting")));
  now += 3s;
  EXPECT_THAT(beat(1, false), AllOf(HasSubstr("unmounting (3 s so far)"), HasSubstr("WATCHDOG=1")));
}

TEST(WorkOfThisProcess, GrowsWithTheWorkOfOtherThreads) {
  std::atomic<bool> enough = false;
  std::thread busy([&] {
    while (!enough) {
    }
  });
  const ProcessWork before = work_of_this_process();
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (work_of_this_process().processor_ticks == before.processor_ticks && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(5ms);
  EXPECT_GT(work_of_this_process().processor_ticks, before.processor_ticks);
  enough = true;
  busy.join();
}

}  // namespace
}  // namespace dedupfs
