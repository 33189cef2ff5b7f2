#include "store/moved_runs.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

namespace dedupfs {
namespace {

std::uint64_t last_of(const ChunkRun& run) {
  return number_of(run.first) + run.chunks.size() - 1;
}

ChunkRun part_of(const ChunkRun& run, std::uint64_t first, std::uint64_t last) {
  ChunkRun part;
  part.first = ChunkId{first};
  part.place = run.place;
  part.region_disk_bytes = run.region_disk_bytes;
  part.region_payload_bytes = run.region_payload_bytes;
  const auto begin = run.chunks.begin() + static_cast<std::ptrdiff_t>(first - number_of(run.first));
  part.chunks.assign(begin, begin + static_cast<std::ptrdiff_t>(last - first + 1));
  return part;
}

// The older runs that the moved ones overlap, as they will be.
class OlderRuns {
 public:
  explicit OlderRuns(const Database& database) : database_(database) {}

  Result<void> make_room(const ChunkRun& moved) {
    DEDUPFS_TRY(load(number_of(moved.first), last_of(moved)));
    auto run = runs_.upper_bound(number_of(moved.first));
    if (run != runs_.begin()) --run;
    while (run != runs_.end() && run->first <= last_of(moved)) {
      if (last_of(run->second) < number_of(moved.first)) {
        ++run;
        continue;
      }
      const ChunkRun whole = std::move(run->second);
      run = runs_.erase(run);
      for (ChunkRun& part : cut_out(whole, moved.first, ChunkId{last_of(moved)}))
        runs_.emplace(number_of(part.first), std::move(part));
    }
    return {};
  }

  void append_to(Database::Batch& batch) const {
    for (const auto& [first, run] : loaded_)
      if (!runs_.contains(first)) batch.erase(Family::kChunks, encode_run_key(ChunkId{first}));
    for (const auto& [first, run] : runs_)
      if (const auto was = loaded_.find(first); was == loaded_.end() || was->second != run)
        batch.put(Family::kChunks, encode_run_key(run.first), encode_run(run));
  }

 private:
  Result<void> load(std::uint64_t first, std::uint64_t last) {
    DEDUPFS_ASSIGN(const auto before, database_.find_at_or_before(Family::kChunks, encode_run_key(ChunkId{first})));
    if (before) DEDUPFS_TRY(load(*before));
    if (last == std::numeric_limits<std::uint64_t>::max()) return {};
    DEDUPFS_ASSIGN(const auto inside, database_.list(Family::kChunks, encode_run_key(ChunkId{first}),
                                                     encode_run_key(ChunkId{last + 1}), last - first + 1));
    for (const KeyValue& entry : inside) DEDUPFS_TRY(load(entry));
    return {};
  }

  Result<void> load(const KeyValue& entry) {
    DEDUPFS_ASSIGN(const ChunkRun run, decode_run(entry.first, entry.second));
    if (loaded_.emplace(number_of(run.first), run).second) runs_.emplace(number_of(run.first), run);
    return {};
  }

  const Database& database_;
  std::map<std::uint64_t, ChunkRun> loaded_;  // as they are in the database, by number of the first id
  std::map<std::uint64_t, ChunkRun> runs_;
};

}  // namespace

std::vector<ChunkRun> cut_out(const ChunkRun& run, ChunkId first, ChunkId last) {
  std::vector<ChunkRun> parts;
  if (number_of(first) > number_of(run.first))
    parts.push_back(part_of(run, number_of(run.first), std::min(number_of(first) - 1, last_of(run))));
  if (number_of(last) < last_of(run))
    parts.push_back(part_of(run, std::max(number_of(last) + 1, number_of(run.first)), last_of(run)));
  return parts;
}

Result<void> put_moved_runs(const Database& database, const std::vector<ChunkRun>& moved, Database::Batch& batch) {
  OlderRuns older(database);
  for (const ChunkRun& run : moved) DEDUPFS_TRY(older.make_room(run));
  older.append_to(batch);
  for (const ChunkRun& run : moved) batch.put(Family::kChunks, encode_run_key(run.first), encode_run(run));
  return {};
}

}  // namespace dedupfs
