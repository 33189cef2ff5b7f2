#include "fs/background/idle_memory.h"

#include <malloc.h>

#include <atomic>
#include <chrono>

namespace dedupfs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kInterval{30};
std::atomic<Clock::time_point> last_given_back{Clock::time_point()};  // global, as the heap is

}  // namespace

void give_back_idle_memory() {
  last_given_back = Clock::now();
  ::malloc_trim(0);
}

void give_back_idle_memory_now_and_then() {
  if (Clock::now() - last_given_back.load() >= kInterval) give_back_idle_memory();
}

}  // namespace dedupfs
