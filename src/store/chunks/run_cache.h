// Where the regions of recently read runs of chunks are, so that a sequential reader asks the database once a run.
//
// Threads: every function from any thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <shared_mutex>

#include "store/chunks/chunk_index.h"

namespace dedupfs {

class RunCache {
 public:
  struct Found {
    RegionPlace place;
    bool has_deltas = false;  // the run, not necessarily the chunk
  };
  std::optional<Found> find(ChunkId id) const {
    const std::shared_lock lock(mutex_);
    const auto after = runs_.upper_bound(number_of(id));
    if (after == runs_.begin()) return std::nullopt;
    const auto& [first, run] = *std::prev(after);
    if (number_of(id) - first >= run.count) return std::nullopt;
    return run.found;
  }

  void forget(ChunkId id) {
    const std::unique_lock lock(mutex_);
    const auto after = runs_.upper_bound(number_of(id));
    if (after != runs_.begin()) runs_.erase(std::prev(after));
  }

  void clear() {
    const std::unique_lock lock(mutex_);
    runs_.clear();
  }

  static Found found_in(const ChunkRun& run) {
    return {run.place, std::ranges::any_of(run.chunks, &ChunkRun::Chunk::is_delta)};
  }

  void insert(const ChunkRun& run) {
    const std::unique_lock lock(mutex_);
    // Starting afresh is rare and cheap: what is in use comes back with one look-up each.
    if (runs_.size() >= kMostRuns) runs_.clear();
    runs_.insert_or_assign(number_of(run.first), Run{run.chunks.size(), found_in(run)});
  }

 private:
  static constexpr std::size_t kMostRuns = 1 << 16;

  struct Run {
    std::size_t count = 0;
    Found found;
  };

  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, Run> runs_;  // by number of the first id
};

}  // namespace dedupfs
