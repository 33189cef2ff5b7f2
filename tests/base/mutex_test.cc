#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

// Whether another thread finds the lock free.
template <class Lock>
bool is_free(Lock& lock) {
  const auto try_it = [&lock] {
    const bool got = lock.try_lock();
    if (got) lock.unlock();
    return got;
  };
  return std::async(std::launch::async, try_it).get();
}

TEST(MutexTest, IsHeldUntilTheEndOfTheScope) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(MutexTest, IsFreeWhileAMutexUnlockLasts) {
  Mutex mutex;
  const MutexLock lock(mutex);
  {
    const MutexUnlock unlocked(mutex);
    EXPECT_TRUE(is_free(mutex));
  }
  EXPECT_FALSE(is_free(mutex));
}

TEST(MutexTest, IsReleasedOnceByAnExceptionInTheMiddle) {
  Mutex mutex;
  try {
    const MutexLock lock(mutex);
    const MutexUnlock unlocked(mutex);
    throw std::runtime_error("in the middle");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(MutexTest, ThatWasTriedIsTakenOver) {
  Mutex mutex;
  if (!mutex.try_lock()) FAIL();  // ASSERT_TRUE hides it from clang
  {
    const MutexLock lock(mutex, std::adopt_lock);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(SharedMutexTest, HasManyReadersOrOneWriter) {
  SharedMutex mutex;
  const auto try_to_read = [&mutex] {
    const bool got = mutex.try_lock_shared();
    if (got) mutex.unlock_shared();
    return got;
  };
  const auto another_reads = [&] { return std::async(std::launch::async, try_to_read).get(); };
  {
    const ReaderLock lock(mutex);
    EXPECT_TRUE(another_reads());
    EXPECT_FALSE(is_free(mutex));
  }
  {
    const WriterLock lock(mutex);
    EXPECT_FALSE(another_reads());
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(ConditionVariableTest, WaitsWithoutTheMutexAndReturnsWithIt) {
  Mutex mutex;
  ConditionVariable changed;
  bool done = false;
  const MutexLock lock(mutex);
  const auto other = std::async(std::launch::async, [&] {
    const MutexLock others(mutex);  // has to wait until the first one waits
    done = true;
    changed.notify_all();
  });
  changed.wait(mutex, [&] { return done; });
  EXPECT_TRUE(done);
  EXPECT_FALSE(is_free(mutex));
}

TEST(ConditionVariableTest, SaysWhetherTheTimeWasOver) {
  Mutex mutex;
  ConditionVariable changed;
  const MutexLock lock(mutex);
  EXPECT_FALSE(changed.wait_for(mutex, 1ms, [] { return false; }));
  EXPECT_FALSE(changed.wait_until(mutex, std::chrono::steady_clock::now() + 1ms, [] { return false; }));
  EXPECT_TRUE(changed.wait_for(mutex, 1h, [] { return true; }));
  changed.wait_until(mutex, std::chrono::steady_clock::now() + 1ms);
  EXPECT_FALSE(is_free(mutex));
}

}  // namespace
}  // namespace dedupfs
