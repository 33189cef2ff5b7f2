// The end of a reclaim that runs on its own thread.
#pragma once

#include <chrono>
#include <thread>

#include "fs/background/reclaimer.h"

namespace dedupfs {

inline ReclaimStatus::Ended await_end(const Reclaimer& reclaimer) {
  while (reclaimer.status().running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return reclaimer.status().last.value_or(ReclaimStatus::Ended{.error = Error{ErrorCode::kNotFound, "none ran"}});
}

}  // namespace dedupfs
