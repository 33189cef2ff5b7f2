#include "fs/snapshots/snapshot_holds.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "fs/format/local_time.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kNoteEverySeconds = 600;

Error not_permitted(const SnapshotRecord& snapshot, const HoldStatus& hold) {
  if (!hold.until_unix_seconds)
    return {ErrorCode::kNotPermitted,
            fmt::format("snapshot '{}' is held: 'dedupfs-snapshot release' lets it go", snapshot.name)};
  return {
      ErrorCode::kNotPermitted,
      fmt::format("snapshot '{}' is held until {}, for another {} at least: nobody can release or delete it earlier",
                  snapshot.name, second_text(*hold.until_unix_seconds), duration_text(hold.seconds_left))};
}

}  // namespace

SnapshotHolds::SnapshotHolds(Volume& volume, Transactions& transactions, HoldClocks clocks)
    : volume_(volume), transactions_(transactions), clocks_(std::move(clocks)) {
  const MutexLock lock(mutex_);  // nobody else has it; the analysis cannot know
  const auto load = [&]() DEDUPFS_REQUIRES(mutex_) -> Result<void> {
    DEDUPFS_ASSIGN(const auto holds, volume_.database().get(Family::kCounters, kHoldsCounter));
    if (holds) {
      DEDUPFS_ASSIGN(holds_, decode_holds(*holds));
    }
    DEDUPFS_ASSIGN(const auto time, volume_.database().get(Family::kCounters, kVolumeTimeCounter));
    DEDUPFS_ASSIGN(time_, VolumeTime::load(time, clocks_.boot));
    noted_ = time_->seconds();
    return {};
  };
  if (const auto loaded = load(); !loaded) {
    damage_ = loaded.error();
    spdlog::error("{}; no snapshot can be deleted until fsck.dedupfs -y has repaired it", loaded.error().message());
  }
}

std::int64_t SnapshotHolds::unix_seconds() const {
  if (clocks_.unix_seconds) return clocks_.unix_seconds();
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

HoldStatus SnapshotHolds::status_of(const SnapshotHold& hold) const {
  HoldStatus status{.until_released = hold.until_released, .until_unix_seconds = {}};
  if (hold.until_unix_seconds == 0) return status;
  const std::uint64_t now = time_->seconds();
  const std::int64_t left_of_clock = std::clamp<std::int64_t>(hold.until_unix_seconds, 0, kLastUnixSeconds) -
                                     std::clamp<std::int64_t>(unix_seconds(), 0, kLastUnixSeconds);
  const std::uint64_t left_of_volume = hold.until_volume_seconds - std::min(hold.until_volume_seconds, now);
  status.seconds_left = std::max(left_of_volume, static_cast<std::uint64_t>(std::max<std::int64_t>(left_of_clock, 0)));
  if (status.seconds_left != 0) status.until_unix_seconds = hold.until_unix_seconds;
  return status;
}

std::optional<HoldStatus> SnapshotHolds::find(TreeNumber snapshot) const {
  const auto hold = holds_.find(snapshot);
  if (hold == holds_.end() || !time_) return std::nullopt;
  const HoldStatus status = status_of(hold->second);
  return status.until_released || status.until_unix_seconds ? std::optional(status) : std::nullopt;
}

std::map<TreeNumber, HoldStatus> SnapshotHolds::all() const {
  const MutexLock lock(mutex_);
  std::map<TreeNumber, HoldStatus> held;
  for (const auto& [snapshot, hold] : holds_)
    if (const auto status = find(snapshot)) held.emplace(snapshot, *status);
  return held;
}

Result<void> SnapshotHolds::check_deletable(const SnapshotRecord& snapshot) const {
  const MutexLock lock(mutex_);
  if (damage_) return *damage_;
  const auto held = find(snapshot.number);
  return held ? Result<void>(not_permitted(snapshot, *held)) : Result<void>();
}

Result<void> SnapshotHolds::hold(const SnapshotRecord& snapshot, std::optional<std::int64_t> until_unix_seconds) {
  const Transactions::Change change(transactions_);
  const MutexLock lock(mutex_);
  if (damage_) return *damage_;
  const std::int64_t now = unix_seconds();
  if (until_unix_seconds && *until_unix_seconds > kLastUnixSeconds)
    return invalid_argument(
        fmt::format("a hold cannot last so long: give a date before {}", second_text(kLastUnixSeconds)));
  if (until_unix_seconds && (*until_unix_seconds <= now || now < 0))
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is not in the future: it is {} now",
                                                          second_text(*until_unix_seconds), second_text(now))};
  const auto held = find(snapshot.number);
  if (until_unix_seconds && held && held->until_unix_seconds && *until_unix_seconds < *held->until_unix_seconds)
    return not_permitted(snapshot, *held);
  SnapshotHold& hold = holds_[snapshot.number];
  if (!until_unix_seconds) {
    hold.until_released = true;
  } else {
    hold.until_unix_seconds = *until_unix_seconds;
    hold.until_volume_seconds =
        std::max(hold.until_volume_seconds, time_->seconds() + static_cast<std::uint64_t>(*until_unix_seconds - now));
  }
  put();
  return {};
}

Result<void> SnapshotHolds::release(const SnapshotRecord& snapshot) {
  const Transactions::Change change(transactions_);
  const MutexLock lock(mutex_);
  if (damage_) return *damage_;
  const auto held = find(snapshot.number);
  if (held && held->until_unix_seconds) return not_permitted(snapshot, *held);
  if (holds_.erase(snapshot.number) == 0)
    return Error{ErrorCode::kNotFound, fmt::format("snapshot '{}' is not held", snapshot.name)};
  put();
  return {};
}

void SnapshotHolds::forget(TreeNumber snapshot) {
  const MutexLock lock(mutex_);
  if (holds_.erase(snapshot) != 0) put();
}

void SnapshotHolds::put() {
  volume_.metadata().put(Family::kCounters, kHoldsCounter, encode_holds(holds_));
  put_time();
}

void SnapshotHolds::put_time() {
  volume_.metadata().put(Family::kCounters, kVolumeTimeCounter, time_->encoded());
  noted_ = time_->seconds();
}

// A volume without holds has no time, and its mounts no change of their own.
void SnapshotHolds::note_time() {
  note_time_after(0);
}

void SnapshotHolds::note_time_now_and_then() {
  note_time_after(kNoteEverySeconds);
}

void SnapshotHolds::note_time_after(std::uint64_t seconds) {
  const auto is_due = [&] {
    const MutexLock lock(mutex_);
    return !holds_.empty() && time_ && time_->seconds() >= noted_ + seconds;
  };
  if (!is_due() || !transactions_.check_writable()) return;
  const Transactions::Change change(transactions_);
  const MutexLock lock(mutex_);
  put_time();
}

}  // namespace dedupfs
