// Snapshots: making and deleting them, and the directory in which they stand.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/crash_point.h"
#include "fs/format/recipe_format.h"
#include "fs/namespace/filesystem.h"
#include "fs/namespace/filesystem_state.h"
#include "index/counters.h"

namespace dedupfs {
namespace {

constexpr std::size_t kMaxSnapshots = 10'000;

// Entries of the directory are in the order of their making.
std::uint64_t cookie_of(TreeNumber number) {
  return kFirstCookie + number;
}

Error no_snapshot(std::string_view name) {
  return {ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", name)};
}

}  // namespace

Result<void> Filesystem::check_snapshot_name(std::string_view name) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (is_valid_name(name) && name[0] != '.' && name[0] != '-' && std::ranges::none_of(name, is_control)) return {};
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("'{}' cannot name a snapshot: a name has 1 to 255 bytes, does not begin with '.' or '-', and "
                  "has neither '/' nor control characters",
                  name)};
}

void FilesystemState::add_snapshots_directory() {
  InodeRecord record;
  Attributes& attributes = record.attributes;
  attributes.inode = kSnapshotsInode;
  attributes.parent = kRootInode;
  attributes.mode = S_IFDIR | 0755;
  attributes.links = 2;
  attributes.next_cookie = kFirstCookie;
  snapshots_directory = table.add(record);
  touch_snapshots_directory();
}

bool FilesystemState::hides_snapshots() const {
  return options.snapshot_access == FilesystemOptions::SnapshotAccess::kHidden;
}

void FilesystemState::touch_snapshots_directory() {
  const std::vector<SnapshotRecord> all = volume->snapshots().all();
  const Result<InodePtr> root = table.get(kRootInode);
  Attributes of_root;
  if (root) {
    const std::lock_guard lock((*root)->mutex);
    of_root = (*root)->record.attributes;
  }
  const std::lock_guard lock(snapshots_directory->mutex);
  Attributes& attributes = snapshots_directory->record.attributes;
  if (options.snapshot_access != FilesystemOptions::SnapshotAccess::kVisible) {
    attributes.mode = S_IFDIR | 0700;
    attributes.uid = of_root.uid;
    attributes.gid = of_root.gid;
  }
  attributes.atime = attributes.mtime = attributes.ctime = Timestamp::now();
  attributes.size = kDirectoryEntryBytes * all.size();
  attributes.links = 2 + static_cast<std::uint32_t>(all.size());
}

Result<Attributes> FilesystemState::lookup_snapshot(std::string_view name) {
  const auto snapshot = volume->snapshots().find(name);
  if (!snapshot) return no_snapshot(name);
  return reference_by_number(node_of(snapshot->number, kRootInode));
}

Result<void> FilesystemState::list_snapshots(std::uint64_t cookie, bool counted,
                                             const std::function<bool(const DirectoryEntry&)>& visit) {
  for (const SnapshotRecord& snapshot : volume->snapshots().all()) {
    if (cookie_of(snapshot.number) <= cookie) continue;
    DirectoryEntry entry;
    entry.name = snapshot.name;
    entry.cookie = cookie_of(snapshot.number);
    const InodeNumber root = node_of(snapshot.number, kRootInode);
    if (counted) count_entry(entry, kSnapshotsInode, root);
    if (!entry.counted) {
      entry.attributes.inode = root;
      entry.attributes.mode = S_IFDIR;
    }
    if (visit(entry)) continue;
    if (entry.counted) (void)table.forget(root, 1);  // never an orphan
    return {};
  }
  return {};
}

std::vector<SnapshotRecord> Filesystem::snapshots() const {
  return state_->volume->snapshots().all();
}

Result<void> Filesystem::create_snapshot(std::string_view name) {
  FilesystemState& state = *state_;
  const std::lock_guard lock(state.snapshot_mutex);
  DEDUPFS_TRY(state.check_writable());
  DEDUPFS_TRY(check_snapshot_name(name));
  if (state.volume->snapshots().find(name))
    return Error{ErrorCode::kExists, fmt::format("there is a snapshot '{}' already", name)};
  if (state.volume->snapshots().all().size() >= kMaxSnapshots)
    return Error{ErrorCode::kTooLarge, fmt::format("there are {} snapshots, delete some first", kMaxSnapshots)};
  DEDUPFS_TRY(state.space.admit_metadata());

  SnapshotRecord record;
  record.name = name;
  state.commit_hook.want({.change = [&] { return state.put_new_snapshot(record); },
                          .ended = [&] { state.volume->snapshots().put_uncommitted(record); }});
  const Result<void> synced = state.sync();
  const std::optional<Result<void>> made = state.commit_hook.take_result();
  if (!made || !*made) return made ? *made : synced ? Error{ErrorCode::kInterrupted, "no group ended"} : synced.error();
  if (!synced) {
    // Its group may be committed yet, as soon as there is room.
    if (state.volume->snapshots().knows(record.number)) state.mark_deleted(record);
    return synced.error().with(fmt::format("snapshot '{}' could not be made", name));
  }
  state.touch_snapshots_directory();
  crash_point("snapshot.created");
  return {};
}

Result<void> FilesystemState::put_new_snapshot(SnapshotRecord& record) {
  {
    const std::lock_guard lock(errors_mutex);
    if (flush_error) return *flush_error;  // it would not have what somebody wrote
  }
  DEDUPFS_ASSIGN(const auto next, get_number(volume->database(), kNextSnapshotCounter));
  // No number is used again, also where the counter is wrong.
  DEDUPFS_ASSIGN(const auto last, volume->database().find_before(Family::kSnapshots, encode_snapshot_key(kEndOfTrees)));
  const std::uint64_t number = std::max(next.value_or(1), last ? node_in_key(last->first) + 1 : 1);
  if (number >= kEndOfTrees)
    return Error{ErrorCode::kTooLarge, fmt::format("no more than {} snapshots can ever be made", kEndOfTrees - 1)};
  record.number = static_cast<TreeNumber>(number);
  record.created_unix_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  record.end_of_inodes = numbers->end();
  record.inodes = numbers->in_use();
  metadata.put(Family::kCounters, kNextSnapshotCounter, encode_number(number + 1));
  metadata.put(Family::kSnapshots, encode_snapshot_key(record.number), encode_snapshot(record));
  return {};
}

Result<void> Filesystem::delete_snapshot(std::string_view name) {
  FilesystemState& state = *state_;
  const std::lock_guard lock(state.snapshot_mutex);
  DEDUPFS_TRY(state.check_writable());
  const auto snapshot = state.volume->snapshots().find(name);
  if (!snapshot) return no_snapshot(name);
  state.mark_deleted(*snapshot);
  DEDUPFS_TRY(state.sync());
  crash_point("snapshot.deleted");
  return {};
}

void FilesystemState::mark_deleted(SnapshotRecord record) {
  {
    const Change change(*this);
    record.is_deleted = true;
    metadata.put(Family::kSnapshots, encode_snapshot_key(record.number), encode_snapshot(record));
    volume->snapshots().put(record);
  }
  touch_snapshots_directory();
}

// The live tree may have all of it still; whether it does is known after the mark of a reclaim.
void FilesystemState::note_dropped(Family family, std::string_view value) {
  if (family != Family::kRecipes) return;
  const auto entries = decode_segment(value);
  if (!entries) return;
  std::uint64_t bytes = 0;
  for (const RecipeEntry& entry : *entries)
    if (entry.kind == RecipeEntry::Kind::kChunk) bytes += entry.length;
  volume->chunks().dropped().add(bytes);
}

}  // namespace dedupfs
