#include "fs/snapshots/rollback.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "base/crash_point.h"
#include "fs/format/records.h"
#include "index/entries.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

constexpr std::size_t kChangesAPage = 1024;
constexpr int kRollbackAttempts = 100;

// Names of entries are in the keys of kDirents. Caches outside know nothing of kCookies and kOrphans.
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

// All its reads come before the first change, so an error leaves the tree as it is.
class Restoration {
 public:
  Restoration(Volume& volume, const SnapshotRecord& snapshot, std::vector<ChangedName>& changed)
      : volume_(volume), metadata_(volume.metadata()), snapshot_(snapshot), changed_(changed) {}

  const QuotaChanges& quota_changes() const { return quota_changes_; }

  Result<void> collect() {
    for (const Family family : kTreeFamilies) {
      DEDUPFS_TRY(collect_images(family));
      DEDUPFS_TRY(collect_newer(family));
    }
    return {};
  }

  void apply() {
    for (auto& [family, key, value] : changes_)
      value ? metadata_.put(family, key, std::move(*value)) : metadata_.erase(family, key);
  }

 private:
  struct Record {
    Family family{};
    std::string key;
    std::optional<std::string> value;  // the value in the snapshot
  };

  // The records that changed after the snapshot.
  Result<void> collect_images(Family family) {
    const SnapshotView view(volume_.database(), volume_.snapshots(), snapshot_);
    for (std::string from;;) {
      DEDUPFS_ASSIGN(ChangePage page,
                     view.images(family, from, encode_inode_key(snapshot_.end_of_inodes), kChangesAPage));
      for (KeyChange& change : page.changes)
        DEDUPFS_TRY(collect(family, std::move(change.key), std::move(change.value)));
      if (!page.behind) return {};
      from = std::move(*page.behind);
    }
  }

  // The records of inodes that were made after the snapshot: they are removed.
  Result<void> collect_newer(Family family) {
    return visit_entries(
        metadata_, family, encode_inode_key(snapshot_.end_of_inodes), encode_inode_key(kEndOfInodes), kChangesAPage,
        [&](const std::string& key, const std::string& /*value*/) { return collect(family, key, std::nullopt); });
  }

  Result<void> collect(Family family, std::string key, std::optional<std::string> value) {
    DEDUPFS_ASSIGN(const auto now, metadata_.get(family, key));
    if (now == value) return {};
    if (now) note_dropped(volume_.chunks(), family, *now);
    if (family == Family::kInodes) quota_changes_.note(node_in_key(key), now, value);
    DEDUPFS_TRY(note_changed(family, key, changed_));
    changes_.push_back({family, std::move(key), std::move(value)});
    return {};
  }

  Volume& volume_;
  Metadata& metadata_;
  const SnapshotRecord& snapshot_;
  std::vector<ChangedName>& changed_;
  std::vector<Record> changes_;
  QuotaChanges quota_changes_;
};

}  // namespace

Result<std::vector<ChangedName>> Rollback::to(std::string_view name) {
  const Snapshots::Turn turn(snapshots_);
  DirectoryMoves::Lock moves_lock(moves_);  // the rollback may change parents of directories
  DEDUPFS_TRY(transactions_.check_writable());
  DEDUPFS_ASSIGN(const SnapshotRecord snapshot, snapshots_.find(name));
  DEDUPFS_TRY(space_.admit_metadata());

  const CleanUp::Pause pause(clean_up_);
  std::vector<ChangedName> changed;
  for (int attempt = 0; attempt < kRollbackAttempts; ++attempt) {
    DEDUPFS_TRY(transactions_.sync());
    bool is_quiet = false;
    const auto go_back = [&]() -> Result<void> {
      // Changes of the open group have no before-images yet. If there are any, something works in the background: try again.
      is_quiet = volume_.metadata().open_is_empty() && !table_.has_dirty();
      return is_quiet ? restore(snapshot, changed) : Result<void>();
    };
    const auto [synced, done] = transactions_.sync_with({.change = go_back, .ended = [&] { (void)orphans_.load(); }});
    DEDUPFS_TRY(synced);
    if (!done) continue;
    DEDUPFS_TRY(*done);
    if (!is_quiet) continue;
    crash_point("snapshot.rolled-back");
    moves_lock.ancestry().forget_all();
    directory_.update();  // the root may have another owner
    return changed;
  }
  return Error{ErrorCode::kBusy, "the volume is changing all the time"};
}

Result<void> Rollback::restore(const SnapshotRecord& snapshot, std::vector<ChangedName>& changed) {
  if (const auto open = table_.find_open_in_live_tree()) {
    const InodePtr inode = table_.find_in_memory(*open);
    return Error{ErrorCode::kBusy, fmt::format("'{}' is open; close what is open in the volume first",
                                               inode ? damage_log_.path_of(*inode) : fmt::format("inode {}", *open))};
  }
  Restoration restoration(volume_, snapshot, changed);
  DEDUPFS_TRY(restoration.collect());
  restoration.apply();
  table_.forget_live_records();
  numbers_.set_in_use(snapshot.inodes);
  quotas_.restored(restoration.quota_changes());
  return {};
}

}  // namespace dedupfs
