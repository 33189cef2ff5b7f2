#include "fs/background/idle_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "support/sanitized.h"

namespace dedupfs {
namespace {

std::uint64_t resident_bytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Free memory between pieces that are in use: the C library does not give it back by itself.
class ScatteredHeap {
 public:
  static constexpr std::uint64_t kFreeBytes = 32 << 20;

  ScatteredHeap() {
    constexpr std::size_t kPieceBytes = 32 << 10;  // below the size that is mapped by itself
    std::vector<std::unique_ptr<char[]>> pieces;
    for (std::uint64_t bytes = 0; bytes < 2 * kFreeBytes; bytes += kPieceBytes) {
      pieces.push_back(std::make_unique<char[]>(kPieceBytes));
      std::memset(pieces.back().get(), 1, kPieceBytes);
    }
    for (std::size_t i = 0; i < pieces.size(); i += 2) used_.push_back(std::move(pieces[i]));
  }

 private:
  std::vector<std::unique_ptr<char[]>> used_;
};

TEST(IdleMemory, GoesBackToTheSystem) {
  if (kSanitized) GTEST_SKIP() << "the heap is that of the sanitizer";
  const ScatteredHeap heap;
  const std::uint64_t before = resident_bytes();

  give_back_idle_memory();

  EXPECT_LT(resident_bytes() + ScatteredHeap::kFreeBytes / 2, before);
}

// It costs some milliseconds, and commits come often.
TEST(IdleMemory, NowAndThenIsNotAtOnceAgain) {
  if (kSanitized) GTEST_SKIP() << "the heap is that of the sanitizer";
  give_back_idle_memory();
  const ScatteredHeap heap;
  const std::uint64_t before = resident_bytes();

  give_back_idle_memory_now_and_then();

  EXPECT_GT(resident_bytes() + ScatteredHeap::kFreeBytes / 2, before);
}

}  // namespace
}  // namespace dedupfs
