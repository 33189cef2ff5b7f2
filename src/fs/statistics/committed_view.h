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

#include "base/go_on.h"
#include "base/job_meter.h"
#include "base/result.h"
#include "fs/format/recipe_format.h"
#include "fs/format/records.h"
#include "store/chunks/chunk_index.h"
#include "store/metadata/snapshot_list.h"
#include "store/volume/volume.h"

namespace dedupfs {

using VisitSegment = std::function<Result<void>(const std::vector<RecipeEntry>&)>;

// The trees that have a segment of a recipe as it is: the live one, if `is_live`, and the snapshots at the positions [begin, end)
// of CommittedView::snapshots().
struct SegmentHolders {
  InodeNumber inode = 0;
  bool is_live = false;
  std::size_t begin = 0;
  std::size_t end = 0;
};
using VisitVersion = std::function<Result<void>(const SegmentHolders&, const std::vector<RecipeEntry>&)>;

class CommittedView {
 public:
  // The volume must outlive it, and so must the meter, which counts the records that walks visit.
  static Result<CommittedView> open(Volume& volume, GoOn go_on = nullptr, JobMeter* meter = nullptr);

  Result<void> walk_inodes(const std::function<void(const InodeRecord&)>& visit) const;
  // The segments of a file follow each other.
  Result<void> walk_recipes(const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const;
  // The recipe of one file, until `visit` returns an Error.
  Result<void> visit_recipe(InodeNumber file, const VisitSegment& visit) const;
  // As walk_recipes(), for content that only snapshots have: the old values of changed segments, and the segments of orphans in the
  // newest snapshot. All segments of a file follow each other.
  Result<void> walk_old_recipes(const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const;
  // Every segment of the live tree and of snapshots, once for each of its values.
  Result<void> walk_versions(const VisitVersion& visit) const;
  Result<void> walk_extents(const std::function<void(const ChunkExtent&)>& visit) const;
  // The names in a directory, or all names. The names of a directory follow each other.
  Result<void> walk_names_in(InodeNumber directory,
                             const std::function<Result<void>(std::string_view name, const Dirent&)>& visit) const;
  Result<void> walk_names(const std::function<Result<void>(const DirentKey&, const Dirent&)>& visit) const;
  // kNotFound if there is none.
  Result<InodeRecord> get_inode(InodeNumber inode) const;
  // About how many records a walk over a family visits.
  std::uint64_t estimated_records(Family family) const { return database_.estimated_entries(family); }
  // Tells the meter how many records the walks will visit from now on, about.
  void expect(std::uint64_t records) const {
    if (meter_ != nullptr) meter_->begin(records);
  }
  // Those that are not deleted, the oldest first.
  const std::vector<SnapshotRecord>& snapshots() const { return snapshots_; }

  bool is_orphan(InodeNumber inode) const { return orphans_.contains(inode); }
  // Whether there can be a chunk with this id.
  bool was_given_away(ChunkId id) const { return number_of(id) < end_of_chunks_; }

 private:
  explicit CommittedView(Volume& volume) : database_(volume.database()), snapshot_(database_.snapshot()) {}

  // The snapshots behind `before`, up to `last`, in which there can be the inode.
  SegmentHolders holders_of(InodeNumber inode, TreeNumber before, TreeNumber last) const;
  Result<void> visit_version(const SegmentHolders& holders, std::string_view key, std::string_view value,
                             const VisitVersion& visit) const;
  Result<void> pause(std::uint64_t& steps) const {
    if (++steps % kBetweenPauses != 0) return {};
    if (meter_ != nullptr) meter_->add(kBetweenPauses);
    return go_on_ ? go_on_() : Result<void>();
  }

  Result<void> visit_segment(std::string_view key, std::string_view value,
                             const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const;
  Result<void> visit_unchanged_segments(
      InodeNumber orphan, const std::set<std::string>& changed,
      const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const;
  template <class Visit>
  Result<void> walk(Family family, Visit visit) const;

  static constexpr std::uint64_t kBetweenPauses = 256;

  const Database& database_;
  std::shared_ptr<const Database::Snapshot> snapshot_;
  GoOn go_on_;                 // may be empty
  JobMeter* meter_ = nullptr;  // null: nobody looks
  std::set<InodeNumber> orphans_;
  std::vector<SnapshotRecord> snapshots_;
  std::uint64_t end_of_chunks_ = 0;  // no chunk has this id or a greater one
};

}  // namespace dedupfs
