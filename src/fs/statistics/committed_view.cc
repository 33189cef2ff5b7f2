#include "fs/statistics/committed_view.h"

#include <fmt/format.h>

#include <limits>

#include "index/counters.h"
#include "store/metadata/before_images.h"

namespace dedupfs {
namespace {

Error never_given_away(const std::string& referrer, ChunkId id) {
  return {ErrorCode::kCorruption,
          fmt::format("{} refers to chunk {}, which was never given away; fsck.dedupfs says more", referrer,
                      number_of(id))};
}

}  // namespace

template <class Visit>
Result<void> CommittedView::walk(Family family, Visit visit) const {
  Result<void> result;
  DEDUPFS_TRY(database_.walk(*snapshot_, family, [&](std::string_view key, std::string_view value) {
    result = visit(key, value);
    return result.has_value();
  }));
  return result;
}

Result<CommittedView> CommittedView::open(Volume& volume) {
  CommittedView view(volume);
  DEDUPFS_TRY(view.walk(Family::kOrphans, [&](std::string_view key, std::string_view) -> Result<void> {
    DEDUPFS_ASSIGN(const InodeNumber inode, decode_inode_key(key));
    view.orphans_.insert(inode);
    return {};
  }));
  DEDUPFS_TRY(view.walk(Family::kSnapshots, [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const TreeNumber number, decode_snapshot_key(key));
    DEDUPFS_ASSIGN(const SnapshotRecord record, decode_snapshot(number, value));
    if (!record.is_deleted) view.newest_ = record;
    return {};
  }));
  DEDUPFS_ASSIGN(const auto end, get_number(volume.database(), kNextChunkIdCounter));
  view.end_of_chunks_ = end.value_or(view.end_of_chunks_);
  return view;
}

Result<void> CommittedView::walk_inodes(const std::function<void(const InodeRecord&)>& visit) const {
  return walk(Family::kInodes, [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const InodeNumber inode, decode_inode_key(key));
    if (is_orphan(inode)) return {};
    DEDUPFS_ASSIGN(const InodeRecord record, decode_inode(inode, value));
    visit(record);
    return {};
  });
}

Result<void> CommittedView::visit_segment(
    std::string_view key, std::string_view value,
    const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const {
  DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(key));
  DEDUPFS_ASSIGN(const auto entries, decode_segment(value));
  for (const RecipeEntry& entry : entries)
    if (entry.kind == RecipeEntry::Kind::kChunk && !was_given_away(entry.chunk))
      return never_given_away(fmt::format("inode {}", place.inode), entry.chunk);
  visit(place.inode, entries);
  return {};
}

Result<void> CommittedView::walk_recipes(
    const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const {
  return walk(Family::kRecipes, [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(key));
    return is_orphan(place.inode) ? Result<void>() : visit_segment(key, value, visit);
  });
}

Result<void> CommittedView::visit_recipe(InodeNumber file, const VisitSegment& visit) const {
  Result<void> result;
  DEDUPFS_TRY(database_.walk_from(
      *snapshot_, Family::kRecipes, encode_recipe_key(file, 0), [&](std::string_view key, std::string_view value) {
        if (node_in_key(key) != file) return false;
        Result<void> visited;
        result = visit_segment(key, value, [&](InodeNumber, const auto& entries) { visited = visit(entries); });
        if (result) result = std::move(visited);
        return result.has_value();
      }));
  return result;
}

Result<void> CommittedView::walk_old_recipes(
    const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const {
  auto orphan = orphans_.begin();
  std::set<std::string> changed;  // segments of this orphan of which the newest snapshot has an image
  const auto visit_orphans_before = [&](InodeNumber inode) -> Result<void> {
    for (; orphan != orphans_.end() && *orphan < inode; ++orphan) {
      DEDUPFS_TRY(visit_unchanged_segments(*orphan, changed, visit));
      changed.clear();
    }
    return {};
  };
  const auto visit_image = [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const BeforeImageKey image, decode_before_image_key(key));
    if (image.family != Family::kRecipes) return {};
    const InodeNumber inode = node_in_key(image.key);
    DEDUPFS_TRY(visit_orphans_before(inode));
    if (newest_ && image.number >= newest_->number && is_orphan(inode)) changed.insert(image.key);
    DEDUPFS_ASSIGN(const auto before, decode_before_image(value));
    return before ? visit_segment(image.key, *before, visit) : Result<void>();
  };
  DEDUPFS_TRY(walk(Family::kBeforeImages, visit_image));
  return visit_orphans_before(std::numeric_limits<InodeNumber>::max());
}

Result<void> CommittedView::visit_unchanged_segments(
    InodeNumber orphan, const std::set<std::string>& changed,
    const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const {
  if (!newest_ || orphan >= newest_->end_of_inodes) return {};
  Result<void> result;
  DEDUPFS_TRY(database_.walk_from(*snapshot_, Family::kRecipes, encode_recipe_key(orphan, 0),
                                  [&](std::string_view key, std::string_view value) {
                                    if (node_in_key(key) != orphan) return false;
                                    if (!changed.contains(std::string(key))) result = visit_segment(key, value, visit);
                                    return result.has_value();
                                  }));
  return result;
}

Result<void> CommittedView::walk_extents(const std::function<void(const ChunkExtent&)>& visit) const {
  return walk(Family::kChunks, [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const ChunkExtent extent, decode_extent(key, value));
    for (const ChunkExtent::Chunk& chunk : extent.chunks)
      for (const ChunkId source : chunk.sources)
        if (!was_given_away(source))
          return never_given_away(fmt::format("a delta in the run of chunks from {}", number_of(extent.first)), source);
    visit(extent);
    return {};
  });
}

}  // namespace dedupfs
