#include "fs/background/running_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace dedupfs {
namespace {

using testing::IsEmpty;

TEST(RunningJobs, AreListedWhileTheyRunTheFirstFirst) {
  RunningJobs jobs;
  std::optional<RunningJobs::Job> send(std::in_place, jobs, "send");
  RunningJobs::Job clone(jobs, "clone");
  clone.meter().begin(10);
  clone.meter().add(4);

  ASSERT_EQ(jobs.all().size(), 2u);
  EXPECT_EQ(jobs.all()[0].name, "send");
  EXPECT_EQ(jobs.all()[1].name, "clone");
  EXPECT_EQ(jobs.all()[1].progress(), 0.4);
  send.reset();
  ASSERT_EQ(jobs.all().size(), 1u);
  EXPECT_EQ(jobs.all()[0].name, "clone");
}

TEST(RunningJobs, NoneIsLeftAtTheEnd) {
  RunningJobs jobs;
  { const RunningJobs::Job job(jobs, "send"); }
  EXPECT_THAT(jobs.all(), IsEmpty());
}

TEST(RunningJobs, TheTimeLeftFollowsFromTheRate) {
  const RunningJobs::Status status{.name = "clone", .done = 25, .total = 100, .seconds = 10};
  EXPECT_EQ(status.progress(), 0.25);
  EXPECT_EQ(status.seconds_left(), 30);
}

TEST(RunningJobs, WhatIsNotKnownIsNotTold) {
  EXPECT_EQ((RunningJobs::Status{.done = 5, .seconds = 1}).progress(), std::nullopt);
  EXPECT_EQ((RunningJobs::Status{.done = 5, .seconds = 1}).seconds_left(), std::nullopt);
  EXPECT_EQ((RunningJobs::Status{.total = 5, .seconds = 1}).seconds_left(), std::nullopt);
  EXPECT_EQ((RunningJobs::Status{.done = 1, .total = 5, .seconds = 0.01}).seconds_left(), std::nullopt) << "too early";
}

TEST(RunningJobs, AnEstimateThatWasTooSmallIsNoMoreThanAll) {
  const RunningJobs::Status status{.done = 7, .total = 5, .seconds = 1};
  EXPECT_EQ(status.progress(), 1);
  EXPECT_EQ(status.seconds_left(), std::nullopt);
}

}  // namespace
}  // namespace dedupfs
