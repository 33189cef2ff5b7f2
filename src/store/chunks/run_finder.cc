#include "store/chunks/run_finder.h"

#include <iterator>
#include <utility>

#include "store/chunks/chunk_reader.h"

namespace dedupfs {

Result<const ChunkRun*> RunFinder::find(ChunkId id) {
  const auto after = runs_.upper_bound(id);
  if (after != runs_.begin() && std::prev(after)->second.contains(id)) return &std::prev(after)->second;
  if (gap_begin_ <= number_of(id) && number_of(id) < gap_end_) return nullptr;
  DEDUPFS_ASSIGN(auto found, find_run(database_, id));
  if (!found) {
    DEDUPFS_TRY(note_gap(id));
    return nullptr;
  }
  // Starting afresh is rare and cheap: what is in use comes back with one look-up each.
  if (runs_.size() >= kMostRuns) runs_.clear();
  ChunkRun& kept = runs_[found->first];
  kept = std::move(*found);
  return &kept;
}

void RunFinder::forget_all() {
  runs_.clear();
  gap_begin_ = gap_end_ = 0;
}

Result<void> RunFinder::note_gap(ChunkId id) {
  DEDUPFS_ASSIGN(const auto next, database_.list(Family::kChunks, encode_run_key(id), {}, 1));
  gap_begin_ = number_of(id);
  gap_end_ = UINT64_MAX;
  if (next.empty()) return {};
  DEDUPFS_ASSIGN(const ChunkRun run, decode_run(next.front().first, next.front().second));
  gap_end_ = number_of(run.first);
  return {};
}

}  // namespace dedupfs
