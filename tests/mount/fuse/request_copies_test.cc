#include "mount/fuse/request_copies.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace dedupfs {
namespace {

constexpr std::uint64_t kAll = RequestCopies::kMaxBytes;

bool never_cancelled() {
  return false;
}

TEST(RequestCopies, OneThatDoesNotFitWaitsForTheOthers) {
  RequestCopies copies;
  std::optional first = copies.acquire(kAll, never_cancelled);
  ASSERT_TRUE(*first);
  std::atomic<bool> given_back = false;

  std::thread other([&] {
    const auto second = copies.acquire(1, never_cancelled);
    EXPECT_TRUE(second);
    EXPECT_TRUE(given_back);
  });
  given_back = true;
  first.reset();
  other.join();
}

TEST(RequestCopies, OneThatIsGivenUpWaitsNoMore) {
  RequestCopies copies;
  const auto first = copies.acquire(kAll, never_cancelled);
  ASSERT_TRUE(first);

  const auto second = copies.acquire(1, [] { return true; });

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kInterrupted);
}

// Readers need the other threads, and who holds a copy may wait for readers.
TEST(RequestCopies, OnlySomeThreadsWait) {
  RequestCopies copies;
  std::optional first = copies.acquire(kAll, never_cancelled);
  ASSERT_TRUE(*first);
  std::atomic<unsigned> asked = 0;
  std::vector<std::thread> waiting(RequestCopies::kMaxWaiting);
  for (std::thread& thread : waiting) {
    thread = std::thread([&, has_asked = false]() mutable {
      const auto waited = copies.acquire(1, [&] {
        if (!std::exchange(has_asked, true)) ++asked;
        return false;
      });
      EXPECT_TRUE(waited);
    });
  }
  while (asked < waiting.size()) std::this_thread::yield();

  const auto one_more = copies.acquire(1, never_cancelled);
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code(), ErrorCode::kNoMemory);

  first.reset();
  for (std::thread& thread : waiting) thread.join();
}

}  // namespace
}  // namespace dedupfs
