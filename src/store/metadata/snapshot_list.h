// The snapshots of a volume, as Family::kSnapshots has them. See docs/snapshots.md.
//
// Threads: SnapshotList: every function from any thread.
// Failure: decoding trusts nothing: a record that cannot have been written by the encoder is kCorruption.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "index/commit_participant.h"
#include "index/database.h"
#include "store/metadata/tree.h"

namespace dedupfs {

inline constexpr std::string_view kNextSnapshotCounter = "next_snapshot";  // none has this number or a higher one

struct SnapshotRecord {
  TreeNumber number = 0;  // later ones have higher numbers
  std::string name;
  std::int64_t created_unix_seconds = 0;
  std::uint64_t end_of_inodes = 0;  // no inode of it has this number or a higher one
  std::uint64_t inodes = 0;         // in use when it was made
  bool is_deleted = false;          // only its before-images are left, and go one by one
  // Of this snapshot and no other, also where somebody copied the volume and both go on: random. Empty, and read
  // from a record without one: uuid_without().
  std::string uuid;
  // By the clock of the machine, so that one with a lower number is not newer whatever the clock says. False: by the maker of what it is a copy of,
  // or nobody knows, since an older build made it.
  bool is_dated_here = false;

  bool operator==(const SnapshotRecord&) const = default;
};

// Of a snapshot that was made when none had a UUID: the same in all copies of the volume.
std::string uuid_without(TreeNumber number, std::int64_t created_unix_seconds);

std::string encode_snapshot_key(TreeNumber number);
Result<TreeNumber> decode_snapshot_key(std::string_view key);
std::string encode_snapshot(const SnapshotRecord& record);
Result<SnapshotRecord> decode_snapshot(TreeNumber number, std::string_view value);

// The snapshot for which a transaction group must preserve the values that it changes.
struct Preservation {
  TreeNumber number = 0;            // the newest that is not deleted
  std::uint64_t end_of_inodes = 0;  // keys of this inode and later ones did not exist then
  // Deleted snapshots that are newer: this snapshot needs the images that they preserved.
  std::vector<TreeNumber> newer_deleted;
};

class SnapshotList final : public CommitParticipant {
 public:
  static Result<std::unique_ptr<SnapshotList>> load(const Database& database);

  std::vector<SnapshotRecord> all() const;  // the first made first; none that is deleted
  std::vector<SnapshotRecord> deleted() const;
  bool knows(TreeNumber number) const;                          // also while a deleted snapshot is reaped
  TreeNumber newest() const;                                    // of those that it knows; kLiveTree if there is none
  std::optional<SnapshotRecord> find(TreeNumber number) const;  // not if it is deleted
  std::optional<SnapshotRecord> find(std::string_view name) const;
  // The newest that is older than `number` and not deleted; 0 if there is none.
  TreeNumber older(TreeNumber number) const;
  std::optional<Preservation> preservation() const;

  // These only take note; the metadata gets the same records.
  void put(const SnapshotRecord& record);
  void erase(TreeNumber number);

  // Adds a snapshot of the state at the end of a group that is not committed yet. Later changes are preserved for it from now on.
  // all() and find() see it once that group is committed; a hidden one once put() has it again. One at a time.
  void put_uncommitted(const SnapshotRecord& record, bool is_hidden = false);

  // The metadata has the records and appends them; only who may see an uncommitted snapshot depends on the commit.
  void freeze() override {}
  Result<void> append_to(Database::Batch& /*batch*/) override { return {}; }
  void committed() override;
  void failed(CommitFailure failure) override;

 private:
  bool is_there(const SnapshotRecord& record) const DEDUPFS_REQUIRES_SHARED(mutex_) {
    return !record.is_deleted && record.number != uncommitted_ && !hidden_.contains(record.number);
  }

  mutable SharedMutex mutex_;
  std::map<TreeNumber, SnapshotRecord> records_ DEDUPFS_GUARDED_BY(mutex_);
  TreeNumber uncommitted_ DEDUPFS_GUARDED_BY(mutex_) = kLiveTree;  // none
  std::set<TreeNumber> hidden_ DEDUPFS_GUARDED_BY(mutex_);
};

}  // namespace dedupfs
