// A pause that the caller can end.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/go_on.h"

namespace dedupfs {

// `go_on` may be empty.
inline Result<void> pause_until(std::chrono::steady_clock::time_point until, const GoOn& go_on) {
  constexpr std::chrono::milliseconds kBetweenQuestions{100};
  using Clock = std::chrono::steady_clock;
  for (;;) {
    if (go_on) DEDUPFS_TRY(go_on());
    const Clock::duration left = until - Clock::now();
    if (left <= Clock::duration::zero()) return {};
    std::this_thread::sleep_for(std::min<Clock::duration>(left, kBetweenQuestions));
  }
}

}  // namespace dedupfs
