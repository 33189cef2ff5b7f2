// The namespace's key-value pairs, with the changes since the last commit as an overlay: the open transaction group, and while a
// commit runs, the frozen one below it. Everybody reads their own writes. Keys of a snapshot's tree (tree.h) lead to the
// namespace as it was when the snapshot was made; nobody may write those.
//
// Threads:   every function from any thread. The caller of freeze() ensures that a group is a consistent state: no operation may
//            be half done then. A list() or find may or may not see changes that others make while it runs, key by key. It always
//            sees keys that nobody changes. No lock is held while the database reads.
// Ownership: the database must outlive it.
// Failure:   reads fail as the database does; reads of a snapshot that is not there are kStale. Writes go to memory, and throw
//            std::bad_alloc if there is none: nothing has changed then.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "index/commit_participant.h"
#include "index/database.h"
#include "store/metadata/before_images.h"
#include "store/metadata/changes.h"
#include "store/metadata/kept_alive.h"
#include "store/metadata/snapshot_list.h"

namespace dedupfs {

class Metadata final : public CommitParticipant {
 public:
  // The snapshots must outlive it, too.
  Metadata(const Database& database, SnapshotList& snapshots);
  ~Metadata() override;

  SnapshotList& snapshots() { return snapshots_; }
  // kStale if there is no such snapshot any more.
  Result<void> check_tree(TreeNumber tree) const;

  Result<std::optional<std::string>> get(Family family, std::string_view key) const;
  // Up to `limit` entries with from <= key < end, in order of key (end empty: to the end of the family).
  Result<std::vector<KeyValue>> list(Family family, std::string_view from, std::string_view end,
                                     std::size_t limit) const;
  // The entry with the greatest key that is <= `key` and >= `from`, if any.
  Result<std::optional<KeyValue>> find_at_or_before(Family family, std::string_view key, std::string_view from) const;

  void put(Family family, std::string_view key, std::string value);
  void erase(Family family, std::string_view key);
  // All of these, of different keys, or none.
  void apply(Family family, std::vector<KeyChange> changes);
  // Counts the changes of this thread. So a caller can tell whether a failed operation had changed something.
  static std::uint64_t changes_of_this_thread();

  // The objects that were decoded last. All users share a cap of 16 MiB: there may be one object for each open file.
  KeptAlive& decoded() { return decoded_; }

  // About how much memory the open group takes: the signal for an early commit.
  std::size_t open_bytes() const;
  bool open_is_empty() const;

  // A snapshot that is put into the list after this, uncommitted, is one of the state at the end of the frozen group.
  void freeze() override;
  bool has_frozen() const;
  // The changes, and the before-images that snapshots need.
  Result<void> append_to(Database::Batch& batch) override;
  void committed() override;
  void failed(CommitFailure /*failure*/) override {}

 private:
  class Overlay;

  std::array<const Overlay*, 2> layers() const DEDUPFS_REQUIRES_SHARED(mutex_);
  std::optional<KeyChange> find_change(Family family, std::string_view key) const;
  std::optional<KeyChange> last_change_before(Family family, std::string_view key, std::string_view from) const;
  ChangePage page_of_changes(Family family, std::string_view from, std::string_view end, std::size_t limit) const;
  // The view of the key's snapshot; none for the live tree.
  Result<std::optional<SnapshotView>> view_of(Family family, std::string_view key) const;
  template <class Read>
  auto read_snapshot(std::string_view key, const Read& read) const -> decltype(read());
  void set(Family family, std::string_view key, std::optional<std::string> value);

  const Database& database_;
  SnapshotList& snapshots_;
  KeptAlive decoded_{16 << 20};
  std::optional<Preservation> preservation_;  // of the frozen group, for the thread that commits it
  mutable SharedMutex mutex_;
  std::shared_ptr<Overlay> open_ DEDUPFS_GUARDED_BY(mutex_);          // as what it points to
  std::shared_ptr<const Overlay> frozen_ DEDUPFS_GUARDED_BY(mutex_);  // what it points to never changes
};

}  // namespace dedupfs
