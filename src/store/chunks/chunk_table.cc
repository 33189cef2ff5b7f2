#include "store/chunks/chunk_table.h"

#include <algorithm>
#include <iterator>

namespace dedupfs {

bool ChunkTable::add(const ChunkExtent& extent) {
  const std::uint64_t first = number_of(extent.first);
  if (!extents_.empty() && first < extents_.back().end) return false;
  extents_.push_back({first, first + extent.chunks.size(), lengths_.size()});
  for (const ChunkExtent::Chunk& chunk : extent.chunks) lengths_.push_back(chunk.raw_length);
  return true;
}

std::optional<std::uint32_t> ChunkTable::length_of(ChunkId id) const {
  const auto after = std::ranges::upper_bound(extents_, number_of(id), {}, &Run::first);
  if (after == extents_.begin()) return std::nullopt;
  const Run& extent = *std::prev(after);
  if (number_of(id) >= extent.end) return std::nullopt;
  return lengths_[extent.index + (number_of(id) - extent.first)];
}

Result<void> mark_unreadable_deltas(const Database& database, ChunkTable& table,
                                    const std::function<bool(ChunkId delta, ChunkId source)>& may_be_made_from) {
  const auto snapshot = database.snapshot();
  // A source may have any id. So a finding of one pass can concern chunks that the pass has already visited. Depth is bounded,
  // and so are the passes; mostly there is one.
  for (bool found_any = true; found_any;) {
    found_any = false;
    DEDUPFS_TRY(database.walk(*snapshot, Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto extent = decode_extent(key, value);
      if (!extent) return true;  // reported when the table was filled
      for (std::size_t i = 0; i < extent->chunks.size(); ++i) {
        const ChunkId delta = extent->id_of(i);
        const auto is_useless = [&](ChunkId source) {
          return !table.length_of(source) || table.is_unreadable(source) || !may_be_made_from(delta, source);
        };
        if (std::ranges::any_of(extent->chunks[i].sources, is_useless) && table.mark_unreadable(delta))
          found_any = true;
      }
      return true;
    }));
  }
  return {};
}

}  // namespace dedupfs
