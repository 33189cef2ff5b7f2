#include "mount/reports/retention_policy.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <iterator>
#include <optional>
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

std::string formatted(const char* format, std::int64_t date) {
  const std::tm local = local_time(date);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &local)};
}

struct Dated {
  SnapshotRecord snapshot;
  std::int64_t date = 0;     // that counts
  bool is_doubtful = false;  // yet to come: the clock of then or that of now is wrong
};

// Of snapshots in the order of their numbers, those whose dates this machine gave, and of which as many as possible have dates that do not go back: the
// clock was right when it gave these. Of several such choices, the one that ends earliest.
std::vector<std::size_t> rightly_dated(const std::vector<SnapshotRecord>& snapshots) {
  std::vector<std::size_t> ends;  // of the choices of each length, the last one that is earliest
  std::vector<std::size_t> before(snapshots.size());
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    if (!snapshots[i].is_dated_here) continue;
    const auto date_of = [&](std::size_t index) { return snapshots[index].created_unix_seconds; };
    const auto longer = std::ranges::upper_bound(ends, snapshots[i].created_unix_seconds, {}, date_of);
    before[i] = longer == ends.begin() ? i : *std::prev(longer);
    if (longer == ends.end())
      ends.push_back(i);
    else
      *longer = i;
  }
  std::vector<std::size_t> chosen;
  if (ends.empty()) return chosen;
  for (std::size_t i = ends.back();; i = before[i]) {
    chosen.push_back(i);
    if (before[i] == i) break;
  }
  std::ranges::reverse(chosen);
  return chosen;
}

// By date, since a copy has that of its original, whenever it was made. One that this machine dated wrongly, by a clock that was fast or slow, gets the
// date of the one before it, so it has no hour, day, week or month of its own.
std::vector<Dated> newest_first(std::vector<SnapshotRecord> snapshots, std::int64_t now) {
  std::ranges::sort(snapshots, {}, &SnapshotRecord::number);
  const std::vector<std::size_t> right = rightly_dated(snapshots);
  auto next_right = right.begin();
  std::vector<Dated> dated;
  std::int64_t latest = 0;
  std::optional<std::int64_t> latest_here;
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    const bool is_right = next_right != right.end() && *next_right == i;
    if (is_right) ++next_right;
    std::int64_t date = snapshots[i].created_unix_seconds;
    if (snapshots[i].is_dated_here && !is_right) date = latest_here.value_or(date);
    if (is_right) latest_here = date;
    const bool is_doubtful = date > now;
    if (is_doubtful) date = latest;
    latest = std::max(latest, date);
    dated.push_back({snapshots[i], date, is_doubtful});
  }
  std::ranges::stable_sort(dated, {}, &Dated::date);
  std::ranges::reverse(dated);
  return dated;
}

// Keeps the newest snapshot of each of the `count` newest periods that have one, and those that may be of any.
void keep(const std::vector<Dated>& newest_first, std::uint32_t count, const char* period, std::set<TreeNumber>& kept) {
  if (count == 0) return;
  std::string last;
  for (const Dated& one : newest_first) {
    if (one.is_doubtful) {
      kept.insert(one.snapshot.number);
      continue;
    }
    std::string own = formatted(period, one.date);
    if (count == 0 || own == last) continue;
    last = std::move(own);
    kept.insert(one.snapshot.number);
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
  const std::vector<Dated> dated = newest_first(std::move(snapshots), now);
  std::set<TreeNumber> kept;
  for (std::size_t i = 0; i < std::min<std::size_t>(policy.last, dated.size()); ++i)
    kept.insert(dated[i].snapshot.number);
  keep(dated, policy.hourly, "%F %H %z", kept);  // with the zone: an hour that the clock repeats counts twice
  keep(dated, policy.daily, "%F", kept);
  keep(dated, policy.weekly, "%G-%V", kept);
  keep(dated, policy.monthly, "%Y-%m", kept);
  std::vector<std::string> others;
  for (const Dated& one : dated)
    if (!kept.contains(one.snapshot.number)) others.push_back(one.snapshot.name);
  std::ranges::reverse(others);
  return others;
}

}  // namespace dedupfs
