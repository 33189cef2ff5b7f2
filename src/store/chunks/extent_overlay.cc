#include "store/chunks/extent_overlay.h"

#include <algorithm>
#include <utility>

#include "index/entries.h"

namespace dedupfs {
namespace {

constexpr std::size_t kLoadedTogether = 64;

std::uint64_t end_of(const ChunkExtent& extent) {
  return number_of(extent.first) + extent.chunks.size();
}

}  // namespace

std::vector<ChunkExtent> carve(const ChunkExtent& extent, ChunkId first, std::size_t count) {
  const std::uint64_t from = number_of(first);
  const std::uint64_t to = from + count;
  const std::uint64_t begin = number_of(extent.first);
  if (to <= begin || from >= end_of(extent)) return {extent};
  std::vector<ChunkExtent> left;
  if (from > begin) left.push_back(extent.part(0, from - begin));
  if (to < end_of(extent)) left.push_back(extent.part(to - begin, extent.chunks.size()));
  return left;
}

Result<std::vector<ChunkExtent>> ExtentOverlay::lay(ChunkExtent extent) {
  DEDUPFS_ASSIGN(auto covered, make_room(number_of(extent.first), end_of(extent)));
  extents_.emplace(number_of(extent.first), std::move(extent));
  return covered;
}

Result<void> ExtentOverlay::remove(ChunkId first, std::size_t count) {
  DEDUPFS_TRY(make_room(number_of(first), number_of(first) + count));
  return {};
}

// Returns the former extents in [first, end).
Result<std::vector<ChunkExtent>> ExtentOverlay::make_room(std::uint64_t first, std::uint64_t end) {
  DEDUPFS_TRY(load(first, end));
  auto at = extents_.upper_bound(first);
  if (at != extents_.begin() && end_of(std::prev(at)->second) > first) --at;
  std::vector<ChunkExtent> covered;
  while (at != extents_.end() && at->first < end) {
    const ChunkExtent older = std::move(at->second);
    at = extents_.erase(at);
    for (ChunkExtent& left : carve(older, ChunkId{first}, end - first))
      extents_.emplace(number_of(left.first), std::move(left));
    const std::uint64_t begin = number_of(older.first);
    covered.push_back(older.part(std::max(first, begin) - begin, std::min(end, end_of(older)) - begin));
  }
  return covered;
}

// Takes over the stored extents that overlap [first, end). An extent here has taken over all that it overlaps, so a stored one that
// was not taken yet overlaps none. Stored ones do not overlap each other: where one was taken there is no other.
Result<void> ExtentOverlay::load(std::uint64_t first, std::uint64_t end) {
  const auto after = loaded_.upper_bound(first);
  if (after != loaded_.begin() && std::prev(after)->second >= end) return {};
  DEDUPFS_ASSIGN(auto around, find_extent(database_, ChunkId{first}));
  if (around) load(std::move(*around));
  const auto load_extent = [this](const std::string& key, const std::string& value) -> Result<void> {
    DEDUPFS_ASSIGN(ChunkExtent extent, decode_extent(key, value));
    load(std::move(extent));
    return {};
  };
  return visit_entries(database_, Family::kChunks, encode_extent_key(ChunkId{first}), encode_extent_key(ChunkId{end}),
                       kLoadedTogether, load_extent);
}

void ExtentOverlay::load(ChunkExtent extent) {
  const std::uint64_t first = number_of(extent.first);
  if (loaded_.emplace(first, end_of(extent)).second) extents_.emplace(first, std::move(extent));
}

void ExtentOverlay::append_to(Database::Batch& batch) {
  for (const auto& [first, end] : loaded_)
    if (!extents_.contains(first)) batch.erase(Family::kChunks, encode_extent_key(ChunkId{first}));
  for (const auto& [first, extent] : extents_)
    batch.put(Family::kChunks, encode_extent_key(extent.first), encode_extent(extent));
  extents_.clear();
  loaded_.clear();
}

}  // namespace dedupfs
