#include "fs/statistics/committed_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

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
  std::uint64_t steps = 0;
  Result<void> result;
  DEDUPFS_TRY(database_.walk(*snapshot_, family, [&](std::string_view key, std::string_view value) {
    result = pause(steps);
    if (result) result = visit(key, value);
    return result.has_value();
  }));
  return result;
}

Result<CommittedView> CommittedView::open(Volume& volume, GoOn go_on, JobMeter* meter) {
  CommittedView view(volume);
  view.go_on_ = std::move(go_on);
  view.meter_ = meter;
  DEDUPFS_TRY(view.walk(Family::kOrphans, [&](std::string_view key, std::string_view) -> Result<void> {
    DEDUPFS_ASSIGN(const InodeNumber inode, decode_inode_key(key));
    view.orphans_.insert(inode);
    return {};
  }));
  DEDUPFS_TRY(view.walk(Family::kSnapshots, [&](std::string_view key, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const TreeNumber number, decode_snapshot_key(key));
    DEDUPFS_ASSIGN(const SnapshotRecord record, decode_snapshot(number, value));
    if (!record.is_deleted) view.snapshots_.push_back(record);
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
    if (!snapshots_.empty() && image.number >= snapshots_.back().number && is_orphan(inode)) changed.insert(image.key);
    DEDUPFS_ASSIGN(const auto before, decode_before_image(value));
    return before ? visit_segment(image.key, *before, visit) : Result<void>();
  };
  DEDUPFS_TRY(walk(Family::kBeforeImages, visit_image));
  return visit_orphans_before(std::numeric_limits<InodeNumber>::max());
}

Result<void> CommittedView::visit_unchanged_segments(
    InodeNumber orphan, const std::set<std::string>& changed,
    const std::function<void(InodeNumber, const std::vector<RecipeEntry>&)>& visit) const {
  if (snapshots_.empty() || orphan >= snapshots_.back().end_of_inodes) return {};
  Result<void> result;
  DEDUPFS_TRY(database_.walk_from(*snapshot_, Family::kRecipes, encode_recipe_key(orphan, 0),
                                  [&](std::string_view key, std::string_view value) {
                                    if (node_in_key(key) != orphan) return false;
                                    if (!changed.contains(std::string(key))) result = visit_segment(key, value, visit);
                                    return result.has_value();
                                  }));
  return result;
}

SegmentHolders CommittedView::holders_of(InodeNumber inode, TreeNumber before, TreeNumber last) const {
  const auto position = [&](auto is_earlier) {
    return static_cast<std::size_t>(std::ranges::partition_point(snapshots_, is_earlier) - snapshots_.begin());
  };
  const std::size_t end = position([&](const SnapshotRecord& snapshot) { return snapshot.number <= last; });
  const std::size_t begin = position(
      [&](const SnapshotRecord& snapshot) { return snapshot.number <= before || snapshot.end_of_inodes <= inode; });
  return {.inode = inode, .is_live = false, .begin = std::min(begin, end), .end = end};
}

Result<void> CommittedView::visit_version(const SegmentHolders& holders, std::string_view key, std::string_view value,
                                          const VisitVersion& visit) const {
  if (!holders.is_live && holders.begin == holders.end) return {};
  Result<void> visited;
  DEDUPFS_TRY(visit_segment(key, value, [&](InodeNumber, const auto& entries) { visited = visit(holders, entries); }));
  return visited;
}

// A snapshot has the image with the least number that is not below its own, and without one the value of the live tree.
Result<void> CommittedView::walk_versions(const VisitVersion& visit) const {
  Database::Cursor live(database_, *snapshot_, Family::kRecipes, {});
  Database::Cursor images(database_, *snapshot_, Family::kBeforeImages, first_before_image_key(Family::kRecipes));
  std::optional<BeforeImageKey> image;
  const auto read_image = [&]() -> Result<void> {
    image.reset();
    if (!images.has_entry()) return images.status();
    DEDUPFS_ASSIGN(BeforeImageKey read, decode_before_image_key(images.key()));
    if (read.family == Family::kRecipes) image = std::move(read);
    return {};
  };
  std::uint64_t steps = 0;
  DEDUPFS_TRY(read_image());
  while (live.has_entry() || image) {
    DEDUPFS_TRY(pause(steps));
    const bool live_is_next = !image || (live.has_entry() && live.key() < image->key);
    const std::string key = live_is_next ? std::string(live.key()) : image->key;
    DEDUPFS_ASSIGN(const RecipeKey place, decode_recipe_key(key));
    TreeNumber before = 0;
    while (image && image->key == key) {
      DEDUPFS_ASSIGN(const auto value, decode_before_image(images.value()));
      if (value) DEDUPFS_TRY(visit_version(holders_of(place.inode, before, image->number), key, *value, visit));
      before = image->number;
      images.next();
      DEDUPFS_TRY(read_image());
    }
    if (!live.has_entry() || live.key() != key) continue;
    SegmentHolders holders = holders_of(place.inode, before, kEndOfTrees);
    holders.is_live = !is_orphan(place.inode);
    DEDUPFS_TRY(visit_version(holders, key, live.value(), visit));
    live.next();
  }
  return live.status();
}

Result<void> CommittedView::walk_names_in(
    InodeNumber directory, const std::function<Result<void>(std::string_view name, const Dirent&)>& visit) const {
  Database::Cursor names(database_, *snapshot_, Family::kDirents, encode_dirent_key(directory, {}));
  std::uint64_t steps = 0;
  for (; names.has_entry(); names.next()) {
    DEDUPFS_TRY(pause(steps));
    DEDUPFS_ASSIGN(const DirentKey key, decode_dirent_key(names.key()));
    if (key.parent != directory) return {};
    DEDUPFS_ASSIGN(const Dirent dirent, decode_dirent(directory, names.value()));
    DEDUPFS_TRY(visit(key.name, dirent));
  }
  return names.status();
}

Result<void> CommittedView::walk_names(
    const std::function<Result<void>(const DirentKey&, const Dirent&)>& visit) const {
  return walk(Family::kDirents, [&](std::string_view stored, std::string_view value) -> Result<void> {
    DEDUPFS_ASSIGN(const DirentKey key, decode_dirent_key(stored));
    DEDUPFS_ASSIGN(const Dirent dirent, decode_dirent(key.parent, value));
    return visit(key, dirent);
  });
}

Result<InodeRecord> CommittedView::get_inode(InodeNumber inode) const {
  const std::string key = encode_inode_key(inode);
  const Database::Cursor cursor(database_, *snapshot_, Family::kInodes, key);
  if (!cursor.has_entry()) DEDUPFS_TRY(cursor.status());
  if (!cursor.has_entry() || cursor.key() != key || is_orphan(inode))
    return Error{ErrorCode::kNotFound, fmt::format("there is no inode {}", inode)};
  return decode_inode(inode, cursor.value());
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
