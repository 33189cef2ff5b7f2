#include "store/chunks/chunk_table.h"

#include <algorithm>
#include <iterator>

namespace dedupfs {

bool ChunkTable::add(const ChunkRun& run) {
  const std::uint64_t first = number_of(run.first);
  if (!runs_.empty() && first < runs_.back().end) return false;
  runs_.push_back({first, first + run.chunks.size(), lengths_.size()});
  for (const ChunkRun::Chunk& chunk : run.chunks) lengths_.push_back(chunk.raw_length);
  return true;
}

std::optional<std::uint32_t> ChunkTable::length_of(ChunkId id) const {
  const auto after = std::ranges::upper_bound(runs_, number_of(id), {}, &Run::first);
  if (after == runs_.begin()) return std::nullopt;
  const Run& run = *std::prev(after);
  if (number_of(id) >= run.end) return std::nullopt;
  return lengths_[run.index + (number_of(id) - run.first)];
}

Result<void> mark_unreadable_deltas(const Database& database, ChunkTable& table,
                                    const std::function<bool(ChunkId delta, ChunkId source)>& may_be_made_from) {
  const auto snapshot = database.snapshot();
  // A source may have any id, so what is found in one pass can concern chunks that were passed before. Depth is bounded, and
  // so are the passes; mostly there is one.
  for (bool found_any = true; found_any;) {
    found_any = false;
    DEDUPFS_TRY(database.walk(*snapshot, Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto run = decode_run(key, value);
      if (!run) return true;  // whoever filled the table has reported it
      for (std::size_t i = 0; i < run->chunks.size(); ++i) {
        const ChunkId delta = run->id_of(i);
        const auto is_useless = [&](ChunkId source) {
          return !table.length_of(source) || table.is_unreadable(source) || !may_be_made_from(delta, source);
        };
        if (std::ranges::any_of(run->chunks[i].sources, is_useless) && table.mark_unreadable(delta)) found_any = true;
      }
      return true;
    }));
  }
  return {};
}

}  // namespace dedupfs
