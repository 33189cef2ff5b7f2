#include "store/chunks/extent_finder.h"

#include <iterator>
#include <utility>

#include "store/chunks/chunk_reader.h"

namespace dedupfs {

Result<const ChunkExtent*> ExtentFinder::find(ChunkId id) {
  const auto after = extents_.upper_bound(id);
  if (after != extents_.begin() && std::prev(after)->second.contains(id)) return &std::prev(after)->second;
  if (gap_begin_ <= number_of(id) && number_of(id) < gap_end_) return nullptr;
  DEDUPFS_ASSIGN(auto found, find_extent(database_, id));
  if (!found) {
    DEDUPFS_TRY(note_gap(id));
    return nullptr;
  }
  // Clearing all of it is rare and cheap: the extents in use come back with one look-up each.
  if (extents_.size() >= kMaxExtents) extents_.clear();
  ChunkExtent& kept = extents_[found->first];
  kept = std::move(*found);
  return &kept;
}

void ExtentFinder::forget_all() {
  extents_.clear();
  gap_begin_ = gap_end_ = 0;
}

Result<void> ExtentFinder::note_gap(ChunkId id) {
  DEDUPFS_ASSIGN(const auto next, database_.list(Family::kChunks, encode_extent_key(id), {}, 1));
  gap_begin_ = number_of(id);
  gap_end_ = UINT64_MAX;
  if (next.empty()) return {};
  DEDUPFS_ASSIGN(const ChunkExtent extent, decode_extent(next.front().first, next.front().second));
  gap_end_ = number_of(extent.first);
  return {};
}

}  // namespace dedupfs
