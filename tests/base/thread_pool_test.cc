#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <future>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "base/guarded.h"

namespace dedupfs {
namespace {

TEST(ThreadPool, RunsTasksInTheOrderInWhichTheyWereSubmitted) {
  std::vector<int> ran;
  {
    ThreadPool pool(1, "test");
    for (int i = 0; i < 100; ++i) pool.submit([&ran, i] { ran.push_back(i); });
  }

  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(ran, expected);
}

TEST(ThreadPool, RunsTasksSideBySide) {
  std::promise<void> first;
  std::promise<void> second;
  ThreadPool pool(2, "test");

  pool.submit([&] {
    first.set_value();
    second.get_future().wait();
  });
  pool.submit([&] {
    first.get_future().wait();
    second.set_value();
  });

  EXPECT_EQ(pool.size(), 2u);  // the destructor would wait for ever if one thread ran both
}

TEST(ThreadPool, RunsTasksThatATaskSubmits) {
  std::atomic<bool> ran = false;
  {
    ThreadPool pool(1, "test");
    pool.submit([&] { pool.submit([&] { ran = true; }); });
  }
  EXPECT_TRUE(ran);
}

TEST(ThreadPool, SurvivesATaskThatThrows) {
  set_error_report([](const char*, const Error&) {});
  std::atomic<bool> ran = false;
  {
    ThreadPool pool(1, "test");
    pool.submit([] { throw std::bad_alloc(); });
    pool.submit([&] { ran = true; });
  }
  set_error_report(nullptr);
  EXPECT_TRUE(ran);
}

TEST(ThreadPool, NamesItsThreads) {
  std::string name(16, '\0');
  {
    ThreadPool pool(1, "chunker");
    pool.submit([&] { pthread_getname_np(pthread_self(), name.data(), name.size()); });
  }
  EXPECT_TRUE(name.starts_with("chunker")) << name;
}

}  // namespace
}  // namespace dedupfs
