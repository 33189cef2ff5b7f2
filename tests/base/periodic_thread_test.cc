#include "base/periodic_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/guarded.h"
#include "base/mutex.h"

namespace dedupfs {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Counts how often the work ran, and lets a test wait for that.
class Runs {
 public:
  void note() {
    const MutexLock lock(mutex_);
    times_.push_back(Clock::now());
    changed_.notify_all();
  }
  void await(std::size_t count) {
    const MutexLock lock(mutex_);
    while (times_.size() < count) changed_.wait(mutex_);
  }
  std::vector<Clock::time_point> times() {
    const MutexLock lock(mutex_);
    return times_;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Clock::time_point> times_ DEDUPFS_GUARDED_BY(mutex_);
};

TEST(PeriodicThread, WorksAgainAndAgainWithAPauseBeforeEachTime) {
  Runs runs;
  PeriodicThread thread;
  const auto begin = Clock::now();
  thread.start({.name = "test", .doing = "testing", .first = 20ms, .interval = 10ms}, [&] { runs.note(); });
  runs.await(3);
  thread.stop();
  const auto times = runs.times();
  EXPECT_GE(times[0] - begin, 20ms);
  EXPECT_GE(times[1] - times[0], 10ms);
  EXPECT_GE(times[2] - times[1], 10ms);
}

TEST(PeriodicThread, PausesLongerAfterWorkThatTookLong) {
  Runs runs;
  PeriodicThread thread;
  thread.start({.name = "test", .doing = "testing", .interval = 1ms, .times_longer = 5}, [&] {
    runs.note();
    const auto end = Clock::now() + 10ms;
    while (Clock::now() < end) {
    }
  });
  runs.await(2);
  thread.stop();
  EXPECT_GE(runs.times()[1] - runs.times()[0], 60ms);
}

TEST(PeriodicThread, DoesNotWaitForThePauseWhenItIsStopped) {
  PeriodicThread thread;
  thread.start({.name = "test", .doing = "testing", .first = 1h, .interval = 1h}, [] { FAIL(); });
  thread.stop();
}

TEST(PeriodicThread, WorkThatTakesLongSeesThatItIsStopped) {
  Runs runs;
  PeriodicThread thread;
  thread.start({.name = "test", .doing = "testing", .interval = 1h}, [&] {
    runs.note();
    while (!thread.is_stopping()) std::this_thread::yield();
  });
  runs.await(1);
  thread.stop();
  EXPECT_EQ(runs.times().size(), 1U);
}

TEST(PeriodicThread, GoesOnAfterAnException) {
  static std::atomic<const char*> reported = nullptr;
  set_error_report([](const char* where, const Error&) { reported = where; });
  Runs runs;
  PeriodicThread thread;
  thread.start({.name = "test", .doing = "testing", .interval = 1ms}, [&] {
    runs.note();
    if (runs.times().size() == 1) throw std::runtime_error("no");
  });
  runs.await(2);
  thread.stop();
  set_error_report(nullptr);
  EXPECT_STREQ(reported, "testing");
}

TEST(PeriodicThread, HasANameAndAPriority) {
  struct Seen {
    std::string name;
    int niceness = 0;
  };
  const auto seen_with = [](bool is_low_priority) {
    std::promise<Seen> promise;
    PeriodicThread thread;
    thread.start({.name = "some name", .doing = "testing", .interval = 1h, .is_low_priority = is_low_priority}, [&] {
      std::array<char, 16> name{};
      ::pthread_getname_np(::pthread_self(), name.data(), name.size());
      promise.set_value({name.data(), ::getpriority(PRIO_PROCESS, 0)});
    });
    return promise.get_future().get();
  };
  const Seen normal = seen_with(false);
  EXPECT_EQ(normal.name, "some name");
  constexpr int kLeastPriority = 19;
  if (normal.niceness < kLeastPriority) {
    EXPECT_GT(seen_with(true).niceness, normal.niceness);
  }
}

TEST(PeriodicThread, WithoutAStartThereIsNothingToStop) {
  PeriodicThread thread;
  thread.stop();
  EXPECT_TRUE(thread.is_stopping());
}

}  // namespace
}  // namespace dedupfs
