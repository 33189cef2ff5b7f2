#include "mount/reports/jobs_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "mount/reports/reclaim_report.h"
#include "mount/reports/scrub_report.h"

namespace dedupfs {
namespace {

struct JobsLine : testing::Test {
  ScrubStatus scrub;
  ReclaimStatus reclaim;
  std::vector<RunningJobs::Status> jobs;

  std::string line(bool is_read_only = false) const {
    return jobs_line({{"scrub", scrub_json(scrub)},
                      {"reclaim", is_read_only ? nlohmann::json() : reclaim_json(reclaim)},
                      {"jobs", jobs_json(jobs)}});
  }
};

TEST_F(JobsLine, IsEmptyIfNothingRuns) {
  EXPECT_EQ(line(), "");
  EXPECT_EQ(line(/*is_read_only=*/true), "");
}

TEST_F(JobsLine, SaysHowFarAScrubIs) {
  scrub.running = true;
  scrub.progress = 0.439;
  EXPECT_EQ(line(), "scrub 43 %");
  scrub.seconds_left = 720;
  EXPECT_EQ(line(), "scrub 43 %, 12 minutes left");
  EXPECT_EQ(line(/*is_read_only=*/true), "scrub 43 %, 12 minutes left");
}

TEST_F(JobsLine, SaysThePhaseOfAReclaim) {
  reclaim.running = true;
  reclaim.phase = ReclaimPhase::kMark;
  reclaim.progress = 0.07;
  EXPECT_EQ(line(), "reclaim: mark 7 %");
  reclaim.paused = true;
  EXPECT_EQ(line(), "reclaim paused");
}

TEST_F(JobsLine, TellsSettlingFromAReclaim) {
  reclaim.running = true;
  reclaim.current.goal = ReclaimGoal::kSettle;
  reclaim.phase = ReclaimPhase::kCopyForward;
  reclaim.progress = 0.5;
  EXPECT_EQ(line(), "settling: copy forward 50 %");
  reclaim.waiting = true;
  EXPECT_EQ(line(), "settling waiting until the volume is idle");
}

TEST_F(JobsLine, HasAllThatRuns) {
  scrub.running = true;
  jobs = {{.name = "send", .done = 1, .total = 4, .seconds = 20},
          {.name = "receive", .done = 9, .seconds = 1},
          {.name = "of a later version", .done = 1, .total = 2, .seconds = 1}};
  EXPECT_EQ(line(),
            "scrub 0 %; sending a snapshot 25 %, 60 seconds left; receiving a snapshot; "
            "of a later version 50 %, 1 second left");
}

TEST(JobJson, HasNullForWhatIsNotKnown) {
  const nlohmann::json job = job_json({.name = "receive", .done = 9, .seconds = 2});
  EXPECT_EQ(job.at("done"), 9);
  EXPECT_TRUE(job.at("total").is_null());
  EXPECT_TRUE(job.at("progress_percent").is_null());
  EXPECT_TRUE(job.at("seconds_left").is_null());
}

}  // namespace
}  // namespace dedupfs
