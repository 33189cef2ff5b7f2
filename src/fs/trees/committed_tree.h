// The records of one tree of the volume, the live one or that of a snapshot, as one commit has them. What others change meanwhile
// is not seen. See docs/snapshots.md.
//
// Threads:   one user at a time.
// Ownership: the database must outlive it. It keeps the view of the commit, as all trees of the same commit do.
// Failure:   errors are the database's, and those of GoOn; kCorruption for records and images that do not parse.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/go_on.h"
#include "base/result.h"
#include "index/database.h"
#include "store/metadata/snapshot_list.h"
#include "store/metadata/tree.h"

namespace dedupfs {

// One commit of a database.
struct CommittedState {
  explicit CommittedState(const Database& its_database, GoOn its_go_on = nullptr)
      : database(its_database), view(its_database.snapshot()), go_on(std::move(its_go_on)) {}

  // Every walk calls it for every record. An Error ends the walk.
  Result<void> note_read() { return ++records_read % kBetweenPauses == 0 && go_on ? go_on() : Result<void>(); }

  static constexpr std::uint64_t kBetweenPauses = 256;

  const Database& database;
  const std::shared_ptr<const Database::Snapshot> view;
  const GoOn go_on;                // may be empty
  std::uint64_t records_read = 0;  // through its trees: a measure of the cost
};

class CommittedTree {
 public:
  // False ends a walk.
  using Visit = std::function<Result<bool>(std::string_view key, std::string_view value)>;

  static CommittedTree live(std::shared_ptr<CommittedState> state);
  // kNotFound if that commit has no such snapshot.
  static Result<CommittedTree> of_snapshot(std::shared_ptr<CommittedState> state, std::string_view name);
  // Of a record that was read in that state.
  static CommittedTree of_snapshot(std::shared_ptr<CommittedState> state, SnapshotRecord record);

  // Nothing for the live tree.
  const std::optional<SnapshotRecord>& snapshot() const { return snapshot_; }
  // No inode of it has this number or a higher one.
  std::uint64_t end_of_inodes() const { return snapshot_ ? snapshot_->end_of_inodes : kEndOfInodes; }

  // Keys are those of the live tree.
  Result<std::optional<std::string>> get(Family family, std::string_view key) const;
  // The records with from <= key < end, in order of key.
  // Memory: the before-images in that range.
  Result<void> walk(Family family, std::string_view from, std::string_view end, const Visit& visit) const;

  // Visits each record that differs between this tree and a newer one of the same commit, in order of key; none: there is no such
  // record. It reads the images that were made between both, and the records of inodes that were made between both.
  using VisitChange = std::function<Result<void>(std::string_view key, const std::optional<std::string>& before,
                                                 const std::optional<std::string>& after)>;
  Result<void> walk_changes(const CommittedTree& newer, Family family, const VisitChange& visit) const;

 private:
  CommittedTree(std::shared_ptr<CommittedState> state, std::optional<SnapshotRecord> snapshot)
      : state_(std::move(state)), snapshot_(std::move(snapshot)) {}

  // The images of snapshots from this one on have this number or a higher one; the live tree has none.
  TreeNumber number() const { return snapshot_ ? snapshot_->number : kEndOfTrees; }
  template <class VisitImage>
  Result<void> walk_images(Family family, std::string_view from, std::string_view end, const VisitImage& visit) const;
  Result<std::optional<std::string>> get_stored(Family family, std::string_view key) const;
  template <class VisitRecord>
  Result<void> walk_stored(Family family, std::string_view from, std::string_view end, const VisitRecord& visit) const;

  std::shared_ptr<CommittedState> state_;
  std::optional<SnapshotRecord> snapshot_;
};

}  // namespace dedupfs
