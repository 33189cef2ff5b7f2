// A retention policy: the number of last snapshots to keep, and of days, weeks and months whose last snapshot to keep.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/metadata/snapshot_list.h"

namespace dedupfs {

// A snapshot is kept if any rule keeps it. Days and weeks without a snapshot do not count.
struct RetentionPolicy {
  std::uint32_t last = 0;
  std::uint32_t daily = 0;
  std::uint32_t weekly = 0;  // weeks begin on Monday
  std::uint32_t monthly = 0;

  bool any() const { return last + daily + weekly + monthly != 0; }
};

// The names of the snapshots that no rule keeps. Days are in local time.
std::vector<std::string> not_kept(const RetentionPolicy& rules, std::vector<SnapshotRecord> snapshots);

}  // namespace dedupfs
