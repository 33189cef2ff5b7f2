#include "fs/history/history_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "fs/history/history_series.h"
#include "fs/history/hours.h"
#include "fs/test_filesystem.h"

namespace dedupfs {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kMountTime = 480'000 * kHistoryHour;

// A filesystem with a history, whose clock the test sets.
class HistoryKeeperTest : public testing::Test {
 protected:
  static FilesystemOptions options(std::chrono::milliseconds interval = std::chrono::hours(1)) {
    FilesystemOptions options = TestFilesystem::quiet();
    options.history.emplace();
    options.history->unix_seconds = [] { return clock_.load(); };
    options.history->interval = interval;
    return options;
  }
  HistoryKeeperTest() { clock_ = kMountTime; }

  static std::vector<HistorySample> history(TestFilesystem& fs) {
    return value_of(read_history(fs->volume().metadata(), clock_));
  }
  static bool has_samples_of(TestFilesystem& fs, std::size_t count) {
    for (int i = 0; i < 500; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
      if (history(fs).size() == count) return true;
    return false;
  }

  static inline std::atomic<std::int64_t> clock_;
};

TEST_F(HistoryKeeperTest, TheUnmountKeepsWhatTheMountWrote) {
  TestFilesystem fs(options());
  ASSERT_TRUE(has_samples_of(fs, 1)) << "that of the mount";
  fs.make_file(kRootInode, "a", random_text(300'000, 1));
  clock_ += kHistoryHour;
  fs.reopen();

  const auto samples = history(fs);
  ASSERT_THAT(samples, SizeIs(2));
  ASSERT_TRUE(samples[1].counts);
  EXPECT_EQ(samples[1].counts->logical, 300'000);
  EXPECT_TRUE(samples[1].restore);
}

TEST_F(HistoryKeeperTest, EachHourHasASampleIfSomethingChanged) {
  TestFilesystem fs(options(std::chrono::milliseconds(10)));
  ASSERT_TRUE(has_samples_of(fs, 1));
  for (std::size_t i = 2; i < 5; ++i) {
    clock_ += kHistoryHour;
    fs.make_file(kRootInode, std::to_string(i));
    EXPECT_TRUE(has_samples_of(fs, i));
  }
}

TEST_F(HistoryKeeperTest, AVolumeThatNobodyChangesIsLeftAlone) {
  TestFilesystem fs(options());
  ASSERT_TRUE(has_samples_of(fs, 1));
  for (int mount = 0; mount < 3; ++mount) {
    clock_ += kHistoryHour;
    fs.reopen();
  }
  fs.reopen();

  EXPECT_THAT(history(fs), SizeIs(1));
}

TEST_F(HistoryKeeperTest, AMountAfterACrashTakesASample) {
  TestFilesystem fs(options());
  ASSERT_TRUE(has_samples_of(fs, 1));
  fs.make_file(kRootInode, "a", random_text(300'000, 1));
  EXPECT_TRUE(ok(fs->sync()));
  clock_ += kHistoryHour;
  const auto after = fs.after_crash();

  EXPECT_TRUE(has_samples_of(*after, 2));
}

TEST_F(HistoryKeeperTest, AClockOutsideOfTheCalendarGivesNoSample) {
  clock_ = -1;
  TestFilesystem fs(options());
  fs.make_file(kRootInode, "a");
  clock_ = HistorySample::kMaxUnixSeconds + 1;
  fs.reopen();

  clock_ = kMountTime;
  EXPECT_THAT(value_of(read_history(fs->volume().metadata(), HistorySample::kMaxUnixSeconds)), IsEmpty());
}

TEST_F(HistoryKeeperTest, AnUnmountDoesNotWaitForCounts) {
  FilesystemOptions impatient = options();
  impatient.history->patience = std::chrono::milliseconds(-1);
  TestFilesystem fs(impatient);
  ASSERT_TRUE(has_samples_of(fs, 1));
  for (int i = 0; i < 1000; ++i) fs.make_file(kRootInode, std::to_string(i));
  clock_ += kHistoryHour;
  fs.reopen();

  const auto samples = history(fs);
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_FALSE(samples[1].counts);
  EXPECT_GT(samples[1].disk_bytes, 0);
}

// A look at every file of the volume takes minutes if the disk is slow and the volume large.
TEST_F(HistoryKeeperTest, AnUnmountDoesNotWaitForTheSizeEither) {
  FilesystemOptions impatient = options();
  impatient.history->patience = std::chrono::milliseconds(-1);
  impatient.history->size_patience = std::chrono::milliseconds(0);
  TestFilesystem fs(impatient);
  ASSERT_TRUE(has_samples_of(fs, 1));
  for (int i = 0; i < 1000; ++i) fs.make_file(kRootInode, std::to_string(i));
  clock_ += kHistoryHour;
  fs.reopen();

  EXPECT_THAT(history(fs), SizeIs(1)) << "that of the mount";
}

// The unmount stops the thread while it counts. Then the sample is that of the unmount.
TEST_F(HistoryKeeperTest, AnUnmountWhileItCountsLosesNoSample) {
  TestFilesystem fs;
  std::atomic<int> samples{0};
  std::atomic<bool> counts{false}, may_end{false};
  HistoryKeeper keeper(fs->volume(),
                       {.changes = [] { return std::uint64_t{1}; },
                        .commit = [] { return Result<void>(); },
                        .keep = [&](const HistorySample&) { ++samples; },
                        .visit_newest = [&](const auto&, const GoOn&) -> Result<void> {
                          counts = true;
                          while (!may_end) std::this_thread::yield();
                          return Error{ErrorCode::kInterrupted, "stopped"};
                        }},
                       {.unix_seconds = [] { return clock_.load(); }});
  while (!counts) std::this_thread::yield();
  std::thread unmount([&] { keeper.stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it has asked the thread to stop, or will
  may_end = true;
  unmount.join();
  keeper.take_last();

  EXPECT_EQ(samples, 1);
}

TEST_F(HistoryKeeperTest, CountingTakesNoMoreThanAHundredthOfTheTime) {
  TestFilesystem fs;
  for (int i = 0; i < 1000; ++i) fs.make_file(kRootInode, std::to_string(i));
  EXPECT_TRUE(ok(fs->sync()));
  std::atomic<std::uint64_t> changes{1};
  std::atomic<int> samples{0}, with_counts{0};
  HistoryKeeper keeper(fs->volume(),
                       {.changes = [&] { return ++changes; },
                        .commit = [] { return Result<void>(); },
                        .keep =
                            [&](const HistorySample& sample) {
                              ++samples;
                              if (sample.counts) ++with_counts;
                            },
                        .visit_newest = [](const auto&, const GoOn&) -> Result<void> {
                          std::this_thread::sleep_for(std::chrono::seconds(1));
                          return {};
                        }},
                       {.unix_seconds = [] { return clock_.load(); }, .interval = std::chrono::milliseconds(1)});
  while (samples < 5) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  keeper.stop();

  EXPECT_EQ(with_counts, 1);
}

}  // namespace
}  // namespace dedupfs
