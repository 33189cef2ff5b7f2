#include "mount/reports/retention_policy.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

namespace dedupfs {
namespace {

constexpr std::string_view kDigitsOfTime = "dddd-dd-dd_dd-dd-dd";  // of "2026-11-29_02-00-00"

bool is_time(std::string_view text) {
  return std::ranges::equal(text, kDigitsOfTime, [](char own, char wanted) {
    return wanted == 'd' ? own >= '0' && own <= '9' : own == wanted;
  });
}

bool is_in_set(std::string_view set, std::string_view name) {
  constexpr std::size_t kTime = kDigitsOfTime.size();
  return name.size() > kTime + 1 && is_time(name.substr(0, kTime)) && name[kTime] == '_' &&
         name.substr(kTime + 1) == set;
}

std::tm local_time(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm local{};
  ::localtime_r(&time, &local);
  return local;
}

std::string formatted(const char* format, const SnapshotRecord& snapshot) {
  const std::tm local = local_time(snapshot.created_unix_seconds);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &local)};
}

// By date, since a copy has that of its original, whenever it was made. A date that is yet to come is of a clock that was set back
// since: no order follows from it, and the snapshot stays behind all that were made before it.
void sort_newest_first(std::vector<SnapshotRecord>& snapshots, std::int64_t now) {
  std::ranges::sort(snapshots, {}, &SnapshotRecord::number);
  std::vector<std::pair<std::int64_t, SnapshotRecord>> dated;
  std::int64_t latest = 0;
  for (SnapshotRecord& snapshot : snapshots) {
    const bool is_believed = snapshot.created_unix_seconds <= now;
    if (is_believed) latest = std::max(latest, snapshot.created_unix_seconds);
    dated.emplace_back(is_believed ? snapshot.created_unix_seconds : latest, std::move(snapshot));
  }
  std::ranges::stable_sort(dated, {}, [](const auto& one) { return one.first; });
  std::ranges::transform(dated.rbegin(), dated.rend(), snapshots.begin(),
                         [](auto& one) { return std::move(one.second); });
}

// Keeps the newest snapshot of each of the `count` newest periods that have one.
void keep(const std::vector<SnapshotRecord>& newest_first, std::uint32_t count, const char* period,
          std::set<TreeNumber>& kept) {
  std::string last;
  for (const SnapshotRecord& snapshot : newest_first) {
    if (count == 0) return;
    std::string own = formatted(period, snapshot);
    if (own == last) continue;
    last = std::move(own);
    kept.insert(snapshot.number);
    --count;
  }
}

}  // namespace

std::string snapshot_name(std::int64_t unix_seconds, bool in_utc, const std::string& set) {
  const std::time_t time = unix_seconds;
  const std::string name = fmt::format("{:%Y-%m-%d_%H-%M-%S}", in_utc ? fmt::gmtime(time) : local_time(time));
  return set.empty() ? name : name + '_' + set;
}

std::vector<SnapshotRecord> snapshots_of_set(std::string_view set, const std::vector<SnapshotRecord>& snapshots) {
  std::vector<SnapshotRecord> members;
  std::ranges::copy_if(snapshots, std::back_inserter(members),
                       [&](const SnapshotRecord& snapshot) { return is_in_set(set, snapshot.name); });
  return members;
}

std::vector<std::string> not_kept(const RetentionPolicy& policy, std::vector<SnapshotRecord> snapshots,
                                  std::int64_t now) {
  sort_newest_first(snapshots, now);
  std::set<TreeNumber> kept;
  for (std::size_t i = 0; i < std::min<std::size_t>(policy.last, snapshots.size()); ++i)
    kept.insert(snapshots[i].number);
  keep(snapshots, policy.hourly, "%F %H %z", kept);  // with the zone: an hour that the clock repeats counts twice
  keep(snapshots, policy.daily, "%F", kept);
  keep(snapshots, policy.weekly, "%G-%V", kept);
  keep(snapshots, policy.monthly, "%Y-%m", kept);
  std::vector<std::string> others;
  for (const SnapshotRecord& snapshot : snapshots)
    if (!kept.contains(snapshot.number)) others.push_back(snapshot.name);
  std::ranges::reverse(others);
  return others;
}

}  // namespace dedupfs
