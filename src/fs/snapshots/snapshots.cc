#include "fs/snapshots/snapshots.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/crash_point.h"
#include "base/guarded.h"
#include "base/uuid.h"
#include "fs/format/records.h"
#include "fs/snapshots/tree_diff.h"
#include "index/counters.h"
#include "store/format/superblock_features.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMaxSnapshots = 10'000;

}  // namespace

Result<void> Snapshots::check_name(std::string_view name) {
  if (name == kPresentName)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("'{}' cannot name a snapshot: it stands for the present", kPresentName)};
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (is_valid_name(name) && name[0] != '.' && name[0] != '-' && std::ranges::none_of(name, is_control)) return {};
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("'{}' cannot name a snapshot: a name has 1 to 255 bytes, does not begin with '.' or '-', and "
                  "has neither '/' nor control characters",
                  name)};
}

Result<SnapshotRecord> Snapshots::find(std::string_view name) const {
  auto snapshot = volume_.snapshots().find(name);
  if (!snapshot) return Error{ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", name)};
  return std::move(*snapshot);
}

Result<void> Snapshots::create(std::string_view name, std::optional<std::int64_t> created_unix_seconds,
                               const JudgeSnapshot& judge) {
  DEDUPFS_ASSIGN(const SnapshotRecord made,
                 make(name, created_unix_seconds, judge ? Visibility::kNobody : Visibility::kAll));
  if (judge) {
    const Result<void> published = guarded([&]() -> Result<void> {
      DEDUPFS_TRY(judge(made));
      return publish(made);
    });
    if (!published) {
      const MutexLock lock(mutex_);
      mark_deleted(made);
      return published;
    }
  }
  directory_.update();
  crash_point("snapshot.created");
  return {};
}

Result<SnapshotRecord> Snapshots::make(std::string_view name, std::optional<std::int64_t> created_unix_seconds,
                                       Visibility visibility) {
  const MutexLock lock(mutex_);
  DEDUPFS_TRY(transactions_.check_writable());
  DEDUPFS_TRY(check_name(name));
  DEDUPFS_TRY(check_free(name));
  if (volume_.snapshots().all().size() >= kMaxSnapshots)
    return Error{ErrorCode::kTooLarge, fmt::format("there are {} snapshots, delete some first", kMaxSnapshots)};
  DEDUPFS_TRY(space_.admit_metadata());
  // First: no build that takes the record for damaged may open the volume from now on.
  DEDUPFS_TRY(add_incompatible_feature(*volume_.folder(), kSnapshotUuidsFeature));

  SnapshotRecord record;
  record.name = name;
  record.uuid = make_uuid();
  record.is_dated_here = !created_unix_seconds;
  record.created_unix_seconds = created_unix_seconds.value_or(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  const bool is_hidden = visibility == Visibility::kNobody;
  const auto [synced, made] =
      transactions_.sync_with({.change = [&] { return put_new(record, visibility); },
                               .ended = [&] { volume_.snapshots().put_uncommitted(record, is_hidden); }});
  if (!made) return synced ? Error{ErrorCode::kInterrupted, "no group ended"} : synced.error();
  if (!*made) return made->error();
  if (!synced) {
    // A later commit may still make its group durable, as soon as there is room.
    if (volume_.snapshots().knows(record.number)) mark_deleted(record);
    return synced.error().with(fmt::format("snapshot '{}' could not be made", name));
  }
  return record;
}

Result<void> Snapshots::check_free(std::string_view name) const {
  if (!volume_.snapshots().find(name)) return {};
  return Error{ErrorCode::kExists, fmt::format("there is a snapshot '{}' already", name)};
}

Result<void> Snapshots::publish(const SnapshotRecord& record) {
  const MutexLock lock(mutex_);
  DEDUPFS_TRY(check_free(record.name));
  {
    const Transactions::Change change(transactions_);
    put(record);
  }
  return transactions_.sync();
}

Result<void> Snapshots::put_new(SnapshotRecord& record, Visibility visibility) {
  DEDUPFS_TRY(transactions_.check_stored());  // without the unstored data, the snapshot would be incomplete
  DEDUPFS_ASSIGN(const auto next, get_number(volume_.database(), kNextSnapshotCounter));
  // No number is used twice, even if the counter is wrong.
  DEDUPFS_ASSIGN(const auto last, volume_.database().find_before(Family::kSnapshots, encode_snapshot_key(kEndOfTrees)));
  const std::uint64_t number = std::max(next.value_or(1), last ? node_in_key(last->first) + 1 : 1);
  if (number >= kEndOfTrees)
    return Error{ErrorCode::kTooLarge, fmt::format("no more than {} snapshots can ever be made", kEndOfTrees - 1)};
  record.number = static_cast<TreeNumber>(number);
  record.end_of_inodes = numbers_.end();
  record.inodes = numbers_.in_use();
  volume_.metadata().put(Family::kCounters, kNextSnapshotCounter, encode_number(number + 1));
  SnapshotRecord stored = record;
  stored.is_deleted = visibility == Visibility::kNobody;  // that is what becomes of it if nobody publishes it
  volume_.metadata().put(Family::kSnapshots, encode_snapshot_key(record.number), encode_snapshot(stored));
  return {};
}

Result<void> Snapshots::remove(std::string_view name) {
  const MutexLock lock(mutex_);
  DEDUPFS_TRY(transactions_.check_writable());
  DEDUPFS_ASSIGN(const SnapshotRecord snapshot, find(name));
  DEDUPFS_TRY(holds_.check_deletable(snapshot));
  mark_deleted(snapshot);
  DEDUPFS_TRY(transactions_.sync());
  crash_point("snapshot.deleted");
  return {};
}

Result<void> Snapshots::hold(std::string_view name, std::optional<std::int64_t> until_unix_seconds) {
  const MutexLock lock(mutex_);
  DEDUPFS_TRY(transactions_.check_writable());
  DEDUPFS_ASSIGN(const SnapshotRecord snapshot, find(name));
  DEDUPFS_TRY(space_.admit_metadata());
  // First: no build that would delete the snapshot may write to the volume from now on.
  DEDUPFS_TRY(add_read_only_feature(*volume_.folder(), kHoldsFeature));
  DEDUPFS_TRY(holds_.hold(snapshot, until_unix_seconds));
  return transactions_.sync();
}

Result<void> Snapshots::release(std::string_view name) {
  const MutexLock lock(mutex_);
  DEDUPFS_TRY(transactions_.check_writable());
  DEDUPFS_ASSIGN(const SnapshotRecord snapshot, find(name));
  DEDUPFS_TRY(holds_.release(snapshot));
  return transactions_.sync();
}

void Snapshots::put(const SnapshotRecord& record) {
  volume_.metadata().put(Family::kSnapshots, encode_snapshot_key(record.number), encode_snapshot(record));
  volume_.snapshots().put(record);
}

void Snapshots::mark_deleted(SnapshotRecord record) {
  {
    const Transactions::Change change(transactions_);
    record.is_deleted = true;
    put(record);
    holds_.forget(record.number);
  }
  directory_.update();
}

}  // namespace dedupfs
