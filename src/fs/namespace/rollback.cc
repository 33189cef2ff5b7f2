// Going back to a snapshot: what differs from it is changed like everything else, at the end of one group.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/crash_point.h"
#include "fs/namespace/filesystem.h"
#include "fs/namespace/filesystem_state.h"
#include "index/entries.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

constexpr std::size_t kChangesAPage = 1024;
constexpr int kAttempts = 100;

// Entries have their names in the keys of kDirents; of kCookies and kOrphans nobody else knows anything.
Result<void> note_changed(Family family, const std::string& key, std::vector<ChangedName>& changed) {
  if (family == Family::kCookies || family == Family::kOrphans) return {};
  ChangedName name{.inode = node_in_key(key), .name = {}};
  if (family == Family::kDirents) {
    DEDUPFS_ASSIGN(const DirentKey dirent, decode_dirent_key(key));
    name.name = dirent.name;
  }
  const bool is_repeated = !name.name && !changed.empty() && !changed.back().name && changed.back().inode == name.inode;
  if (!is_repeated) changed.push_back(std::move(name));
  return {};
}

}  // namespace

// Reads everything before it changes anything: an error leaves the tree as it is.
class FilesystemState::Restoration {
 public:
  Restoration(FilesystemState& state, const SnapshotRecord& snapshot, std::vector<ChangedName>& changed)
      : state_(state), snapshot_(snapshot), changed_(changed) {}

  Result<void> collect() {
    for (const Family family : kTreeFamilies) {
      DEDUPFS_TRY(collect_images(family));
      DEDUPFS_TRY(collect_newer(family));
    }
    return {};
  }

  void apply() {
    for (auto& [family, key, value] : changes_)
      value ? state_.metadata.put(family, key, std::move(*value)) : state_.metadata.erase(family, key);
  }

 private:
  struct Record {
    Family family{};
    std::string key;
    std::optional<std::string> value;  // as the snapshot has it
  };

  // What has changed since.
  Result<void> collect_images(Family family) {
    const SnapshotView view(state_.volume->database(), state_.volume->snapshots(), snapshot_);
    for (std::string from;;) {
      DEDUPFS_ASSIGN(ChangePage page,
                     view.images(family, from, encode_inode_key(snapshot_.end_of_inodes), kChangesAPage));
      for (KeyChange& change : page.changes)
        DEDUPFS_TRY(collect(family, std::move(change.key), std::move(change.value)));
      if (!page.behind) return {};
      from = std::move(*page.behind);
    }
  }

  // What belongs to inodes that were made later goes.
  Result<void> collect_newer(Family family) {
    return visit_entries(
        state_.metadata, family, encode_inode_key(snapshot_.end_of_inodes), encode_inode_key(kEndOfInodes),
        kChangesAPage,
        [&](const std::string& key, const std::string& /*value*/) { return collect(family, key, std::nullopt); });
  }

  Result<void> collect(Family family, std::string key, std::optional<std::string> value) {
    DEDUPFS_ASSIGN(const auto now, state_.metadata.get(family, key));
    if (now == value) return {};
    if (now) state_.note_dropped(family, *now);
    DEDUPFS_TRY(note_changed(family, key, changed_));
    changes_.push_back({family, std::move(key), std::move(value)});
    return {};
  }

  FilesystemState& state_;
  const SnapshotRecord& snapshot_;
  std::vector<ChangedName>& changed_;
  std::vector<Record> changes_;
};

// Nothing is deleted in the background meanwhile.
class FilesystemState::CleanUpPause {
 public:
  explicit CleanUpPause(FilesystemState& state) : state_(state) { state_.clean_up_is_paused = true; }
  ~CleanUpPause() {
    state_.clean_up_is_paused = false;
    state_.committer->request_background_step();
  }
  CleanUpPause(const CleanUpPause&) = delete;
  CleanUpPause& operator=(const CleanUpPause&) = delete;

 private:
  FilesystemState& state_;
};

Result<std::vector<ChangedName>> Filesystem::roll_back(std::string_view name) {
  FilesystemState& state = *state_;
  const std::lock_guard lock(state.snapshot_mutex);
  const std::lock_guard rename_lock(state.rename_mutex);  // directories change their parents
  DEDUPFS_TRY(state.check_writable());
  const auto snapshot = state.volume->snapshots().find(name);
  if (!snapshot) return Error{ErrorCode::kNotFound, fmt::format("there is no snapshot '{}'", name)};
  DEDUPFS_TRY(state.space.admit_metadata());

  const FilesystemState::CleanUpPause pause(state);
  std::vector<ChangedName> changed;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    DEDUPFS_TRY(state.sync());
    bool is_quiet = false;
    const auto go_back = [&]() -> Result<void> {
      // What the open group has no image tells of yet. Somebody works in the background: once more.
      is_quiet = state.metadata.open_is_empty() && !state.table.has_dirty();
      return is_quiet ? state.roll_back(*snapshot, changed) : Result<void>();
    };
    state.commit_hook.want({.change = go_back, .ended = [&] { (void)state.orphan_reaper->load(); }});
    const Result<void> synced = state.sync();
    const std::optional<Result<void>> done = state.commit_hook.take_result();
    DEDUPFS_TRY(synced);
    if (!done) continue;
    DEDUPFS_TRY(*done);
    if (!is_quiet) continue;
    crash_point("snapshot.rolled-back");
    state.ancestry.forget_all();
    state.touch_snapshots_directory();  // the root may have another owner
    return changed;
  }
  return Error{ErrorCode::kBusy, "the volume is changing all the time"};
}

Result<void> FilesystemState::roll_back(const SnapshotRecord& snapshot, std::vector<ChangedName>& changed) {
  if (const auto open = table.find_open_in_live_tree()) {
    const InodePtr inode = table.find_in_memory(*open);
    return Error{ErrorCode::kBusy, fmt::format("'{}' is open; close what is open in the volume first",
                                               inode ? path_for_log(*inode) : fmt::format("inode {}", *open))};
  }
  Restoration restoration(*this, snapshot, changed);
  DEDUPFS_TRY(restoration.collect());
  restoration.apply();
  table.forget_live_records();
  numbers->set_in_use(snapshot.inodes);
  return {};
}

}  // namespace dedupfs
