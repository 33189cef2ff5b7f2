// Chooses the snapshots of a set to keep: the newest ones, and the newest one of each of the last hours, days, weeks
// and months. A set is no record: the names of its snapshots say that they belong to it.
//
// Threads: free functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/metadata/snapshot_list.h"

namespace dedupfs {

// The name of a snapshot that is made at that time, in seconds since 1970: the time, and the set if there is one, as in
// "2026-11-29_02-00-00_nightly". Names of all sets sort by time.
std::string snapshot_name(std::int64_t unix_seconds, bool in_utc, const std::string& set);

// Those with such a name of this set.
std::vector<SnapshotRecord> snapshots_of_set(std::string_view set, const std::vector<SnapshotRecord>& snapshots);

// A snapshot is kept if any rule keeps it. Hours, days, weeks and months without one do not count.
struct RetentionPolicy {
  std::uint32_t last = 0;
  std::uint32_t hourly = 0;
  std::uint32_t daily = 0;
  std::uint32_t weekly = 0;  // weeks begin on Monday
  std::uint32_t monthly = 0;

  bool any() const { return (last | hourly | daily | weekly | monthly) != 0; }
};

// The names of the snapshots that no rule keeps, the oldest first. Days begin at midnight of the local time. `now`: in seconds since 1970. Where the dates that
// this machine gave go back and forth, most of them are taken for right, and the others have no hour, day, week or month of their own. Where a date is yet
// to come, it may be the clock of now that is wrong: the rules for hours, days, weeks and months keep the snapshot, and do not count it.
std::vector<std::string> not_kept(const RetentionPolicy& policy, std::vector<SnapshotRecord> snapshots,
                                  std::int64_t now);

}  // namespace dedupfs
