// The words between a reclaim and the program that runs it: the host that it asks, its settings, its phases and its findings.
//
// Threads: plain values. A reclaim calls the functions of its host on its own thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/go_on.h"
#include "base/result.h"
#include "index/database.h"
#include "store/format/types.h"
#include "store/relocation/in_group.h"

namespace dedupfs {

// The share of garbage from which on it pays to fetch the rest of a container from a store of objects and to store it anew: what it costs comes
// back within so many months. By the prices of Amazon S3 Standard (docs/scale-out.md): $0.09 a GB that leaves the store, $0.023 a GB and
// month. Requests hardly count. 0 months: never.
constexpr double worth_fetching(unsigned months) {
  constexpr double kEgress = 0.09;
  constexpr double kStorage = 0.023;
  return kEgress / (kEgress + kStorage * months);
}

// The operations that only the owner of the volume's transaction groups can do.
struct ReclaimHost {
  InGroup in_group;
  // All that was changed before it was called is committed.
  std::function<Result<void>()> commit;
  // Returns when all deleted files are gone from the namespace. It calls `check_cancelled` meanwhile, and ends with its Error.
  std::function<Result<void>(const std::function<Result<void>()>& check_cancelled)> await_deletions = [](const auto&) {
    return Result<void>();
  };
  // Called before the first chunk is erased: the time to write a checkpoint of a state that needs only marked chunks.
  std::function<void()> before_erasing;
  // Visits every chunk that the committed state, as of `snapshot`, refers to; `progress` is between 0 and 1. An Error ends it.
  using Visit = std::function<Result<void>(ChunkId id, double progress)>;
  std::function<Result<void>(const Database::Snapshot& snapshot, const Visit& visit)> references;
  // Visits every chunk that the newest files refer to, the newest files first, each from its beginning, until it is told that this is
  // enough. Asks `go_on` also while it passes files without chunks. May be none.
  using VisitUntil = std::function<bool(ChunkId id)>;
  std::function<Result<void>(const VisitUntil& visit, const GoOn& go_on)> newest_references;
  // What settling gathers (docs/settling.md) takes at most this share of what was stored since it gathered last. 0: nothing.
  unsigned gather_percent = 100;
  // A container that lies elsewhere than on this machine is emptied only if at least this share of it is garbage. See worth_fetching().
  double far_garbage = worth_fetching(3);
  // Containers that were written to within this time are not emptied, unless nothing of them is needed: a store of objects may want the price of so
  // long for each object.
  std::chrono::seconds least_age{0};
  // The bytes that a reclaim may write now, on the disk that the volume lies on.
  std::function<Result<std::uint64_t>()> available_bytes;
};

// kFreeSpace: give back the space of chunks that nothing refers to. kSettle: store landed chunks for good (docs/settling.md).
enum class ReclaimGoal : std::uint8_t { kFreeSpace, kSettle };

struct ReclaimSettings {
  ReclaimGoal goal = ReclaimGoal::kFreeSpace;
  bool yields = false;  // waits while the volume is in use, and ends when somebody asks for another reclaim
  // Containers are emptied, the emptiest first, until at most this share of the rest is garbage.
  double garbage_left = 0.02;
  // Deltas are re-encoded if more than this share of the needed bytes would come back.
  double bases_left = 0.02;
};

enum class ReclaimPhase : std::uint8_t { kAwait, kMark, kRebase, kSweep, kCopyForward, kCompactIndex };

struct ReclaimFindings {
  ReclaimGoal goal = ReclaimGoal::kFreeSpace;
  std::uint64_t live_chunks = 0;
  std::uint64_t rebased_chunks = 0;  // deltas that were re-encoded
  std::uint64_t rebased_bytes = 0;   // their size now, before compression
  std::uint64_t erased_chunks = 0;
  std::uint64_t emptied_containers = 0;
  std::uint64_t emptied_bytes = 0;    // what these were long
  std::uint64_t moved_bytes = 0;      // of these, live bytes that were stored elsewhere: as long as they were before
  std::uint64_t under_way_bytes = 0;  // the same of containers that are not emptied yet; none in the end
  std::uint64_t stored_bytes = 0;     // and what the chunks that moved take now
  std::uint64_t garbage_bytes = 0;    // left in containers
  bool lacked_room = false;           // for the live chunks of containers that would have been emptied

  // Settling makes chunks shorter, a reclaim removes them.
  std::uint64_t freed_bytes() const {
    return emptied_bytes - std::min(emptied_bytes, goal == ReclaimGoal::kSettle ? stored_bytes : moved_bytes);
  }
};

// `done` is between 0 and 1, of the phase; called often. An Error ends the reclaim.
using ReclaimProgress = std::function<Result<void>(ReclaimPhase phase, double done, const ReclaimFindings& so_far)>;

}  // namespace dedupfs
