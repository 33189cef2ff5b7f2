#include "store/chunks/extent_finder.h"

#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

namespace dedupfs {
namespace {

template <typename Extent>
Result<std::optional<Extent>> find_in_index(const Database& database, ChunkId id) {
  if constexpr (std::is_same_v<Extent, ChunkExtent>)
    return find_extent(database, id);
  else
    return find_extent_front(database, id);
}

std::size_t weight_of(const ChunkExtent& extent) {
  return 1 + extent.chunks.size();
}
std::size_t weight_of(const ExtentFront&) {
  return 1;
}

}  // namespace

template <typename Extent>
Result<const Extent*> BasicExtentFinder<Extent>::find(ChunkId id) {
  const auto after = extents_.upper_bound(id);
  if (after != extents_.begin() && std::prev(after)->second.contains(id)) return &std::prev(after)->second;
  if (gap_begin_ <= number_of(id) && number_of(id) < gap_end_) return nullptr;
  DEDUPFS_ASSIGN(auto found, find_in_index<Extent>(database_, id));
  if (!found) {
    DEDUPFS_TRY(note_gap(id));
    return nullptr;
  }
  // Clearing all of it is rare and cheap: the extents in use come back with one look-up each.
  if (held_ >= kMaxHeld) {
    extents_.clear();
    held_ = 0;
  }
  held_ += weight_of(*found);
  Extent& kept = extents_[found->first];
  kept = std::move(*found);
  return &kept;
}

template <typename Extent>
void BasicExtentFinder<Extent>::forget_all() {
  extents_.clear();
  held_ = 0;
  gap_begin_ = gap_end_ = 0;
}

template <typename Extent>
Result<void> BasicExtentFinder<Extent>::note_gap(ChunkId id) {
  DEDUPFS_ASSIGN(const auto next, database_.list(Family::kChunks, encode_extent_key(id), {}, 1));
  gap_begin_ = number_of(id);
  gap_end_ = UINT64_MAX;
  if (next.empty()) return {};
  DEDUPFS_ASSIGN(const ChunkExtent extent, decode_extent(next.front().first, next.front().second));
  gap_end_ = number_of(extent.first);
  return {};
}

template class BasicExtentFinder<ChunkExtent>;
template class BasicExtentFinder<ExtentFront>;

}  // namespace dedupfs
