#include "fs/check/hold_repair.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "fs/format/hold_records.h"

namespace dedupfs {
namespace {

struct FoundHolds {
  bool is_there = false;  // a record of either kind, perhaps damaged
  std::optional<std::map<TreeNumber, SnapshotHold>> holds;
  std::optional<VolumeTimeRecord> time;
};

Result<FoundHolds> find_holds(const RecordSource* source) {
  FoundHolds found;
  if (source == nullptr) return found;
  DEDUPFS_TRY(source->walk(Family::kCounters, [&](std::string_view key, std::string_view value) {
    if (key == kHoldsCounter) {
      found.is_there = true;
      if (auto holds = decode_holds(value)) found.holds = std::move(*holds);
    } else if (key == kVolumeTimeCounter) {
      found.is_there = true;
      if (const auto time = decode_volume_time(value)) found.time = *time;
    }
    return true;
  }));
  return found;
}

void add_older(FoundHolds& all, const FoundHolds& older) {
  all.is_there |= older.is_there;
  if (older.time && (!all.time || older.time->seconds > all.time->seconds)) all.time = older.time;
  if (!older.holds) return;
  if (!all.holds) all.holds.emplace();
  for (const auto& [snapshot, hold] : *older.holds) {
    SnapshotHold& merged = (*all.holds)[snapshot];
    merged.until_released |= hold.until_released;
    merged.until_unix_seconds = std::max(merged.until_unix_seconds, hold.until_unix_seconds);
    merged.until_volume_seconds = std::max(merged.until_volume_seconds, hold.until_volume_seconds);
  }
}

}  // namespace

Result<void> repair_holds(const std::vector<const RecordSource*>& sources, bool has_holds, BulkWriter& to,
                          const RepairLog& log) {
  FoundHolds all;
  bool is_newest = false;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    DEDUPFS_ASSIGN(const FoundHolds found, find_holds(sources[i]));
    add_older(all, found);
    if (i == 0) is_newest = found.holds.has_value();
  }
  if (!has_holds && !all.is_there) return {};
  if (!all.holds)
    log.lost("the record of held snapshots is lost: no snapshot is held any more; hold those again that must stay");
  else if (!is_newest)
    log.lost(
        "the newest record of held snapshots is lost: look which snapshots are held; those are held that were in the "
        "checkpoint");
  if (!all.time) log.lost("the time of the volume is lost: holds with a date last longer than it");
  // A record without any hold: the loss is said once.
  DEDUPFS_TRY(
      to.put(Family::kCounters, kHoldsCounter, encode_holds(all.holds.value_or(decltype(all.holds)::value_type()))));
  return all.time ? to.put(Family::kCounters, kVolumeTimeCounter, encode_volume_time(*all.time)) : Result<void>();
}

}  // namespace dedupfs
