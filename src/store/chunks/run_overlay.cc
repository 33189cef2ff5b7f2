#include "store/chunks/run_overlay.h"

#include <algorithm>
#include <utility>

#include "index/entries.h"
#include "store/chunks/chunk_reader.h"

namespace dedupfs {
namespace {

constexpr std::size_t kLoadedTogether = 64;

std::uint64_t end_of(const ChunkRun& run) {
  return number_of(run.first) + run.chunks.size();
}

}  // namespace

std::vector<ChunkRun> carve(const ChunkRun& run, ChunkId first, std::size_t count) {
  const std::uint64_t from = number_of(first);
  const std::uint64_t to = from + count;
  const std::uint64_t begin = number_of(run.first);
  if (to <= begin || from >= end_of(run)) return {run};
  std::vector<ChunkRun> left;
  if (from > begin) left.push_back(run.part(0, from - begin));
  if (to < end_of(run)) left.push_back(run.part(to - begin, run.chunks.size()));
  return left;
}

Result<std::vector<ChunkRun>> RunOverlay::lay(ChunkRun run) {
  DEDUPFS_ASSIGN(auto covered, make_room(number_of(run.first), end_of(run)));
  runs_.emplace(number_of(run.first), std::move(run));
  return covered;
}

Result<void> RunOverlay::remove(ChunkId first, std::size_t count) {
  DEDUPFS_TRY(make_room(number_of(first), number_of(first) + count));
  return {};
}

// Returns what was in [first, end).
Result<std::vector<ChunkRun>> RunOverlay::make_room(std::uint64_t first, std::uint64_t end) {
  DEDUPFS_TRY(load(first, end));
  auto at = runs_.upper_bound(first);
  if (at != runs_.begin() && end_of(std::prev(at)->second) > first) --at;
  std::vector<ChunkRun> covered;
  while (at != runs_.end() && at->first < end) {
    const ChunkRun older = std::move(at->second);
    at = runs_.erase(at);
    for (ChunkRun& left : carve(older, ChunkId{first}, end - first))
      runs_.emplace(number_of(left.first), std::move(left));
    const std::uint64_t begin = number_of(older.first);
    covered.push_back(older.part(std::max(first, begin) - begin, std::min(end, end_of(older)) - begin));
  }
  return covered;
}

// Takes over the stored runs that overlap [first, end). A run here has taken over all that it overlaps, so a stored one that
// was not taken yet overlaps none.
Result<void> RunOverlay::load(std::uint64_t first, std::uint64_t end) {
  DEDUPFS_ASSIGN(auto around, find_run(database_, ChunkId{first}));
  if (around) load(std::move(*around));
  const auto load_run = [this](const std::string& key, const std::string& value) -> Result<void> {
    DEDUPFS_ASSIGN(ChunkRun run, decode_run(key, value));
    load(std::move(run));
    return {};
  };
  return visit_entries(database_, Family::kChunks, encode_run_key(ChunkId{first}), encode_run_key(ChunkId{end}),
                       kLoadedTogether, load_run);
}

void RunOverlay::load(ChunkRun run) {
  const std::uint64_t first = number_of(run.first);
  if (loaded_.insert(first).second) runs_.emplace(first, std::move(run));
}

void RunOverlay::append_to(Database::Batch& batch) {
  for (const std::uint64_t first : loaded_)
    if (!runs_.contains(first)) batch.erase(Family::kChunks, encode_run_key(ChunkId{first}));
  for (const auto& [first, run] : runs_) batch.put(Family::kChunks, encode_run_key(run.first), encode_run(run));
  runs_.clear();
  loaded_.clear();
}

}  // namespace dedupfs
