#include "fs/statistics/file_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "fs/format/mode.h"
#include "fs/statistics/committed_view.h"
#include "index/entries.h"
#include "store/chunks/chunk_set.h"
#include "store/chunks/extent_finder.h"
#include "store/metadata/before_images.h"
#include "store/relocation/restore_estimate.h"

namespace dedupfs {
namespace {

Error no_inode(InodeNumber inode) {
  return {ErrorCode::kNotFound, fmt::format("there is no inode {}", inode)};
}

using VisitChunk = std::function<Result<void>(ChunkId)>;

// Counts the references of files to some chunks, file by file. Files without such a reference take no memory.
class ReferenceCounts {
 public:
  ReferenceCounts(const ChunkSet& wanted, std::uint64_t max_bytes)
      : wanted_(wanted), of_a_file_(max_bytes), of_several_files_(max_bytes), of_this_file_(max_bytes) {}

  // The references of a file follow each other.
  void add(InodeNumber file, const std::vector<RecipeEntry>& entries) {
    if (file != file_ && !of_this_file_.empty()) of_this_file_.clear();
    file_ = file;
    for (const RecipeEntry& entry : entries) {
      if (entry.kind != RecipeEntry::Kind::kChunk || !wanted_.contains(entry.chunk)) continue;
      if (of_this_file_.insert(entry.chunk) && !of_a_file_.insert(entry.chunk)) of_several_files_.insert(entry.chunk);
    }
  }
  bool is_of_a_file(ChunkId id) const { return of_a_file_.contains(id); }
  bool is_of_several_files(ChunkId id) const { return of_several_files_.contains(id); }
  Result<void> require_complete() const {
    for (const ChunkSet* const set : {&of_a_file_, &of_several_files_, &of_this_file_})
      DEDUPFS_TRY(set->require_complete());
    return {};
  }

 private:
  const ChunkSet& wanted_;
  ChunkSet of_a_file_;
  ChunkSet of_several_files_;
  ChunkSet of_this_file_;
  InodeNumber file_ = 0;
};

// Recipes are read piece by piece, since one recipe can be larger than all memory. Several passes find the chunks of the files, their
// other users, and the order of reading.
class FileCounting {
 public:
  FileCounting(Volume& volume, const CommittedView& view)
      : database_(volume.database()),
        snapshots_(volume.snapshots()),
        view_(view),
        max_bytes_(ChunkSet::limit_for(database_)),
        extents_(database_) {}

  Result<std::vector<FileStatistics>> run(const std::vector<InodeNumber>& inodes) {
    for (const InodeNumber inode : inodes) DEDUPFS_TRY(add_file(inode));
    for (auto& [inode, statistics] : files_) DEDUPFS_TRY(count_references(inode, statistics));
    DEDUPFS_TRY(wanted_.require_complete());
    DEDUPFS_TRY(view_.walk_recipes([this](InodeNumber inode, const auto& segment) { live_.add(inode, segment); }));
    DEDUPFS_TRY(live_.require_complete());
    if (files_.lower_bound(node_of(kLiveTree + 1, 0)) != files_.end()) {
      // The versions of a file in several snapshots count as one file.
      DEDUPFS_TRY(view_.walk_old_recipes([this](InodeNumber inode, const auto& segment) { old_.add(inode, segment); }));
      DEDUPFS_TRY(old_.require_complete());
    }
    for (auto& [inode, statistics] : files_) {
      DEDUPFS_TRY(count_chunks(inode, statistics));
      DEDUPFS_TRY(estimate_restore(inode, statistics));
    }

    std::vector<FileStatistics> statistics;
    statistics.reserve(inodes.size());
    for (const InodeNumber inode : inodes) statistics.push_back(files_[inode]);
    return statistics;
  }

 private:
  Result<void> add_file(InodeNumber inode) {
    DEDUPFS_ASSIGN(const auto value, find_record(inode));
    if (!value) return no_inode(inode);
    DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(inode, *value));
    const Attributes& attributes = record.attributes;
    if (!is_regular(attributes.mode))
      return Error{ErrorCode::kInvalidArgument, fmt::format("inode {} is no regular file", inode)};
    FileStatistics& statistics = files_[inode];
    statistics.logical_bytes = attributes.size;
    statistics.hole_bytes = attributes.size - std::min(attributes.data_bytes, attributes.size);
    return {};
  }

  // Not for an orphan.
  Result<std::optional<std::string>> find_record(InodeNumber inode) {
    const std::string key = encode_inode_key(inode_of(inode));
    if (tree_of(inode) == kLiveTree) {
      if (view_.is_orphan(inode)) return std::nullopt;
      return database_.get(Family::kInodes, key);
    }
    const auto snapshot = snapshots_.find(tree_of(inode));
    if (!snapshot) return std::nullopt;
    const SnapshotView then(database_, snapshots_, *snapshot);
    DEDUPFS_ASSIGN(const auto orphan, then.get(Family::kOrphans, key));
    if (orphan) return std::nullopt;
    return then.get(Family::kInodes, key);
  }

  Result<void> visit_recipe(InodeNumber inode, const VisitSegment& visit) {
    if (tree_of(inode) == kLiveTree) return view_.visit_recipe(inode, visit);
    const auto snapshot = snapshots_.find(tree_of(inode));
    if (!snapshot) return no_inode(inode);
    const SnapshotView then(database_, snapshots_, *snapshot);
    DEDUPFS_TRY(visit_entries(then, Family::kRecipes, encode_recipe_key(inode_of(inode), 0),
                              encode_key_behind(inode_of(inode)), kSegmentsOfAPage,
                              [&](const std::string&, const std::string& value) -> Result<void> {
                                DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
                                return visit(entries);
                              }));
    if (!snapshots_.find(tree_of(inode))) return no_inode(inode);  // parts of it may be gone already
    return {};
  }

  Result<void> visit_chunks(InodeNumber inode, const VisitChunk& visit) {
    return visit_recipe(inode, [&](const std::vector<RecipeEntry>& entries) -> Result<void> {
      for (const RecipeEntry& entry : entries)
        if (entry.kind == RecipeEntry::Kind::kChunk) DEDUPFS_TRY(visit(entry.chunk));
      return {};
    });
  }

  Result<void> count_references(InodeNumber inode, FileStatistics& statistics) {
    return visit_recipe(inode, [&](const std::vector<RecipeEntry>& entries) -> Result<void> {
      for (const RecipeEntry& entry : entries) {
        if (entry.kind == RecipeEntry::Kind::kInline) statistics.inline_bytes += entry.length;
        if (entry.kind != RecipeEntry::Kind::kChunk) continue;
        if (!view_.was_given_away(entry.chunk)) return chunk_not_in_index(entry.chunk);
        ++statistics.chunks;
        wanted_.insert(entry.chunk);
      }
      return {};
    });
  }

  // Whether only this file refers to a chunk.
  bool is_own(InodeNumber inode, ChunkId id) const {
    if (tree_of(inode) == kLiveTree) return !live_.is_of_several_files(id);
    return !live_.is_of_a_file(id) && !old_.is_of_several_files(id);
  }

  Result<void> count_chunks(InodeNumber inode, FileStatistics& statistics) {
    ChunkSet repeated(max_bytes_);
    Reach reach{ChunkSet(max_bytes_), 0, {}};
    DEDUPFS_TRY(visit_chunks(inode, [&](ChunkId id) -> Result<void> {
      if (!reach.seen.insert(id)) repeated.insert(id);
      return {};
    }));
    for (const ChunkSet* const set : {&reach.seen, &repeated}) DEDUPFS_TRY(set->require_complete());
    DEDUPFS_TRY(reach.seen.for_each(
        [&](ChunkId id) { return count_chunk(id, is_own(inode, id), repeated.contains(id), statistics); }));
    repeated.clear();
    DEDUPFS_TRY(follow_deltas(reach));
    statistics.base_chunks = reach.bases;
    statistics.containers = reach.containers.size();
    return {};
  }

  Result<void> count_chunk(ChunkId id, bool is_own, bool is_repeated, FileStatistics& statistics) {
    DEDUPFS_ASSIGN(const ChunkExtent* const extent, find_extent(id));
    const ChunkExtent::Chunk& chunk = extent->at(id);
    const std::uint64_t disk_bytes = extent->disk_bytes_of(chunk.payload_length());
    ++statistics.unique_chunks;
    if (!is_own || is_repeated) ++statistics.shared_chunks;
    if (chunk.is_delta()) ++statistics.delta_chunks;
    statistics.unique_bytes += chunk.raw_length;
    statistics.stored_bytes += disk_bytes;
    if (is_own) statistics.own_bytes += disk_bytes;
    return {};
  }

  // The cost of reading some chunks.
  struct Reach {
    ChunkSet seen;
    std::uint64_t bases = 0;  // beside the chunks themselves
    std::set<std::uint32_t> containers;
  };

  // Among the chunks that were seen.
  Result<void> follow_deltas(Reach& reach) {
    auto found = std::make_unique<ChunkSet>(max_bytes_);
    DEDUPFS_TRY(reach.seen.for_each([&](ChunkId id) { return add_sources(id, reach, *found); }));
    while (!found->empty()) {
      auto deeper = std::make_unique<ChunkSet>(max_bytes_);
      DEDUPFS_TRY(found->for_each([&](ChunkId id) -> Result<void> {
        ++reach.bases;
        reach.seen.insert(id);
        return {};
      }));
      DEDUPFS_TRY(found->for_each([&](ChunkId id) { return add_sources(id, reach, *deeper); }));
      found = std::move(deeper);
    }
    return reach.seen.require_complete();
  }

  Result<void> add_sources(ChunkId id, Reach& reach, ChunkSet& found) {
    DEDUPFS_ASSIGN(const ChunkExtent* const extent, find_extent(id));
    reach.containers.insert(extent->place.container);
    for (const ChunkId source : extent->at(id).sources) {
      if (!view_.was_given_away(source)) return chunk_not_in_index(source);
      if (!reach.seen.contains(source)) found.insert(source);
    }
    return found.require_complete();
  }

  // The chunks that count_chunks() found.
  Result<void> estimate_restore(InodeNumber inode, FileStatistics& statistics) {
    RestoreEstimate estimate;
    DEDUPFS_TRY(visit_chunks(inode, [&](ChunkId id) { return estimate_reading(extents_, id, estimate); }));
    statistics.regions_read = estimate.regions_read();
    statistics.jumps = estimate.jumps();
    statistics.read_bytes = estimate.read_bytes();
    statistics.hard_disk_seconds = estimate.seconds(kHardDisk);
    statistics.ssd_seconds = estimate.seconds(kSsd);
    return {};
  }

  Result<const ChunkExtent*> find_extent(ChunkId id) {
    DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
    if (extent == nullptr) return chunk_not_in_index(id);
    return extent;
  }

  const Database& database_;
  const SnapshotList& snapshots_;
  const CommittedView& view_;
  const std::uint64_t max_bytes_;                // of each set
  std::map<InodeNumber, FileStatistics> files_;  // those asked for
  ChunkSet wanted_{max_bytes_};                  // their chunks
  ReferenceCounts live_{wanted_, max_bytes_};
  ReferenceCounts old_{wanted_, max_bytes_};  // to content that only snapshots have
  ExtentFinder extents_;
};

}  // namespace

Result<std::vector<FileStatistics>> compute_file_statistics(Volume& volume, const std::vector<InodeNumber>& files) {
  DEDUPFS_ASSIGN(const CommittedView view, CommittedView::open(volume));
  return FileCounting(volume, view).run(files);
}

}  // namespace dedupfs
