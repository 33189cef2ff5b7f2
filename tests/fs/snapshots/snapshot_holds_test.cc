#include "fs/snapshots/snapshot_holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "fs/test_filesystem.h"
#include "store/format/superblock.h"

namespace dedupfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kDay = 86400;

// Both clocks as tests set them. The machine starts at 1,000,000,000 seconds of the calendar.
struct SetClocks {
  BootTime boot{.boot = {1}, .seconds = 100};
  std::int64_t unix_seconds = 1'000'000'000;

  void pass(std::int64_t seconds) {
    boot.seconds += static_cast<std::uint64_t>(seconds);
    unix_seconds += seconds;
  }
  void boot_again() { boot = {.boot = {++boot.boot[0]}, .seconds = 10}; }
};

FilesystemOptions options_with(const std::shared_ptr<SetClocks>& clocks) {
  FilesystemOptions options = TestFilesystem::quiet();
  options.hold_clocks = {.boot = [clocks] { return clocks->boot; },
                         .unix_seconds = [clocks] { return clocks->unix_seconds; }};
  return options;
}

struct SnapshotHoldsTest : testing::Test {
  const std::shared_ptr<SetClocks> clocks = std::make_shared<SetClocks>();
  TestFilesystem fs{options_with(clocks)};

  SnapshotHoldsTest() { EXPECT_TRUE(ok(fs->create_snapshot("s"))); }
  std::int64_t in(std::int64_t seconds) const { return clocks->unix_seconds + seconds; }
  bool is_deletable(const std::string& name = "s") {
    const auto deleted = fs->delete_snapshot(name);
    if (deleted) return true;
    EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, deleted));
    EXPECT_TRUE(std::ranges::any_of(fs->snapshots(), [&](const auto& snapshot) { return snapshot.name == name; }));
    return false;
  }
};

TEST_F(SnapshotHoldsTest, WhatIsHeldIsNotDeletedUntilItIsReleased) {
  ASSERT_TRUE(ok(fs->hold_snapshot("s", std::nullopt)));
  EXPECT_FALSE(is_deletable());
  fs.reopen();
  EXPECT_FALSE(is_deletable());
  ASSERT_TRUE(ok(fs->release_snapshot("s")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->release_snapshot("s")));
  EXPECT_TRUE(is_deletable());
  EXPECT_THAT(fs->held_snapshots(), IsEmpty());
}

TEST_F(SnapshotHoldsTest, NobodyReleasesItBeforeTheDate) {
  ASSERT_TRUE(ok(fs->hold_snapshot("s", in(30 * kDay))));
  const auto refused = fs->release_snapshot("s");
  ASSERT_TRUE(fails_with(ErrorCode::kNotPermitted, refused));
  EXPECT_THAT(refused.error().message(), HasSubstr("for another 30 days"));
  clocks->pass(30 * kDay - 1);
  EXPECT_FALSE(is_deletable());
  EXPECT_EQ(fs->held_snapshots().begin()->second.seconds_left, 1U);
  clocks->pass(1);
  EXPECT_THAT(fs->held_snapshots(), IsEmpty());
  EXPECT_TRUE(is_deletable());
}

TEST_F(SnapshotHoldsTest, AClockThatIsSetReleasesNothingEarly) {
  ASSERT_TRUE(ok(fs->hold_snapshot("s", in(30 * kDay))));
  clocks->unix_seconds += 1000 * kDay;
  EXPECT_FALSE(is_deletable());
  fs.reopen();
  EXPECT_FALSE(is_deletable());
  clocks->boot_again();
  fs.reopen();
  EXPECT_FALSE(is_deletable());
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, fs->release_snapshot("s")));
  clocks->unix_seconds -= 1000 * kDay;  // and back: it takes the time that it takes
  clocks->pass(30 * kDay);
  clocks->unix_seconds -= 40 * kDay;
  EXPECT_FALSE(is_deletable());
  clocks->unix_seconds += 40 * kDay;
  EXPECT_TRUE(is_deletable());
}

TEST_F(SnapshotHoldsTest, TimeOfTheMachineBeingOffDoesNotCount) {
  ASSERT_TRUE(ok(fs->hold_snapshot("s", in(10 * kDay))));
  clocks->pass(4 * kDay);
  fs.close();
  clocks->unix_seconds += 20 * kDay;
  clocks->boot_again();
  fs.open();
  EXPECT_EQ(fs->held_snapshots().begin()->second.seconds_left, static_cast<std::uint64_t>(6 * kDay));
  clocks->pass(6 * kDay);
  EXPECT_TRUE(is_deletable());
}

TEST_F(SnapshotHoldsTest, ADateIsOnlyPutOff) {
  ASSERT_TRUE(ok(fs->hold_snapshot("s", in(10 * kDay))));
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, fs->hold_snapshot("s", in(9 * kDay))));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, fs->hold_snapshot("s", in(0))));
  const auto too_far = fs->hold_snapshot("s", INT64_MAX);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, too_far));
  EXPECT_THAT(too_far.error().message(), HasSubstr("a hold cannot last so long: give a date before"));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, fs->hold_snapshot("never", in(kDay))));
  clocks->unix_seconds +=
      11 * kDay;  // a clock that is set forward makes a later date nearer, but the time does not get shorter
  ASSERT_TRUE(ok(fs->hold_snapshot("s", in(kDay))));
  clocks->pass(10 * kDay - 1);
  EXPECT_FALSE(is_deletable());
}

TEST_F(SnapshotHoldsTest, OutlivesACrashAndIsDurableAtOnce) {
  ASSERT_TRUE(ok(fs->hold_snapshot("s", in(10 * kDay))));
  const auto crashed = fs.after_crash();
  EXPECT_TRUE(fails_with(ErrorCode::kNotPermitted, (*crashed)->delete_snapshot("s")));
}

TEST_F(SnapshotHoldsTest, BuildsThatDoNotKnowHoldsMayNotWrite) {
  const auto features = [&] { return read_superblock(*fs->volume().folder())->read_only_features; };
  EXPECT_THAT(features(), IsEmpty());
  ASSERT_TRUE(ok(fs->hold_snapshot("s", std::nullopt)));
  EXPECT_THAT(features(), testing::ElementsAre("holds"));
}

TEST_F(SnapshotHoldsTest, IfTheRecordIsDamagedNothingIsDeleted) {
  ASSERT_TRUE(ok(fs->hold_snapshot("s", in(10 * kDay))));
  ASSERT_TRUE(ok(fs->create_snapshot("t")));
  Database::Batch batch(fs->volume().database());
  batch.put(Family::kCounters, kHoldsCounter, "\x01\xff");
  ASSERT_TRUE(ok(fs->volume().database().write(batch)));
  fs.drop();
  fs.open();
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, fs->delete_snapshot("t")));
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, fs->release_snapshot("s")));
}

// Whatever happens to clocks and mounts: nothing is deletable before its time has passed, and everything is in the end.
TEST(SnapshotHoldsModel, NothingIsReleasedEarly) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int end) { return std::uniform_int_distribution<int>(0, end - 1)(random); };
    const auto clocks = std::make_shared<SetClocks>();
    TestFilesystem fs(options_with(clocks));
    std::int64_t really = 0;                  // seconds that have passed
    std::map<std::string, std::int64_t> due;  // in that time
    for (int step = 0; step < 60; ++step) {
      const std::string name = "s" + std::to_string(pick(4));
      switch (pick(7)) {
        case 0: (void)fs->create_snapshot(name); break;
        case 1: {
          const std::int64_t seconds = 1 + pick(20) * kDay;
          if (fs->hold_snapshot(name, clocks->unix_seconds + seconds))
            due[name] = std::max(due[name], really + seconds);
          break;
        }
        case 2: clocks->unix_seconds += (pick(2) == 0 ? 1 : -1) * pick(100) * kDay; break;
        case 3: {
          const std::int64_t seconds = pick(5) * kDay;
          clocks->pass(seconds);
          really += seconds;
          break;
        }
        case 4:
          fs.close();
          really += kDay;
          if (pick(2) == 0)
            clocks->pass(kDay);
          else
            clocks->boot_again();
          fs.open();
          break;
        case 5:
          if (fs->release_snapshot(name)) {
            EXPECT_GE(really, due[name]);
          }
          break;
        default:
          if (fs->delete_snapshot(name)) {
            EXPECT_GE(really, due[name]);
            due.erase(name);
          }
      }
    }
    clocks->unix_seconds = std::max<std::int64_t>(clocks->unix_seconds, 1'000'000'000);
    clocks->pass(10'000 * kDay);
    EXPECT_THAT(fs->held_snapshots(), IsEmpty());
  }
}

}  // namespace
}  // namespace dedupfs
