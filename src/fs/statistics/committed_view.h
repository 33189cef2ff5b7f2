// A consistent view of the last commit, for walks over the whole volume.
//
// Orphans are left out: they have no name, and disappear when they are closed. Their content in a snapshot belongs to the snapshot.
//
// Threads: one user at a time; the volume may be in use meanwhile.
// Failure: kCorruption for records that do not parse, and for chunk ids that were never used, so that a set of visited ids is
//          bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "store/chunks/chunk_index.h"
#include "store/metadata/snapshot_list.h"
#include "store/volume/volume.h"

namespace dedupfs {

using VisitSegment = std::function<Result<void>(const std::vector<RecipeEntry>&)>;

class CommittedView {
 public:
  // The volume must outlive it.
  static Result<CommittedView> open(Volume& volume);

  Result<void> walk_inodes(const std::function<void(const InodeRecord&)>& visit) const;
  // The segments of a file follow each other.
  Result<void> walk_recipes(const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const;
  // The recipe of one file, until `visit` returns an Error.
  Result<void> visit_recipe(InodeNumber file, const VisitSegment& visit) const;
  // As walk_recipes(), for content that only snapshots have: the old values of changed segments, and the segments of orphans in the
  // newest snapshot. All segments of a file follow each other.
  Result<void> walk_old_recipes(const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const;
  Result<void> walk_extents(const std::function<void(const ChunkExtent&)>& visit) const;

  bool is_orphan(InodeNumber inode) const { return orphans_.contains(inode); }
  // Whether there can be a chunk with this id.
  bool was_given_away(ChunkId id) const { return number_of(id) < end_of_chunks_; }

 private:
  explicit CommittedView(Volume& volume) : database_(volume.database()), snapshot_(database_.snapshot()) {}

  Result<void> visit_segment(std::string_view key, std::string_view value,
                             const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const;
  Result<void> visit_unchanged_segments(
      InodeNumber orphan, const std::set<std::string>& changed,
      const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const;
  template <class Visit>
  Result<void> walk(Family family, Visit visit) const;

  const Database& database_;
  std::shared_ptr<const Database::Snapshot> snapshot_;
  std::set<InodeNumber> orphans_;
  std::optional<SnapshotRecord> newest_;  // the newest snapshot that is not deleted
  std::uint64_t end_of_chunks_ = 0;       // no chunk has this id or a greater one
};

}  // namespace dedupfs
