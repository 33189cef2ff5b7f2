#include "store/reclaim.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/crash_point.h"
#include "store/chunk_reader.h"

namespace dedupfs {
namespace {

constexpr std::size_t kErasedTogether = 1 << 16;     // chunks a commit
constexpr std::uint64_t kMovedTogether = 256 << 20;  // bytes on disk a commit
constexpr std::uint64_t kBetweenReports = 1 << 12;   // references or runs

class Reclaim {
 public:
  Reclaim(Volume& volume, const ReclaimHost& host, const ReclaimSettings& settings, const ReclaimProgress& progress)
      : volume_(volume), host_(host), settings_(settings), progress_(progress) {}

  Result<ReclaimFindings> run() {
    live().start_marking(volume_.chunks().end_of_ids());
    const auto erased = [&]() -> Result<void> {
      DEDUPFS_TRY(mark());
      return erase();
    }();
    volume_.chunks().finish_reclaim();
    DEDUPFS_TRY(erased);
    DEDUPFS_TRY(sweep());
    return findings_;
  }

 private:
  Liveness& live() { return volume_.chunks().liveness(); }

  Result<void> report(ReclaimPhase phase, std::uint64_t done, std::uint64_t all) {
    return reports_++ % kBetweenReports == 0 ? progress_(phase, done, all) : Result<void>();
  }

  // ------------------------------------------------------------ mark

  Result<void> mark() {
    // References that were made before claims were noted are in this commit.
    DEDUPFS_TRY(host_.commit());
    const auto snapshot = volume_.database().snapshot();
    std::uint64_t seen = 0;
    std::optional<Error> error;
    DEDUPFS_TRY(host_.references(*snapshot, [&](ChunkId id) {
      live().mark(id);
      if (auto reported = report(ReclaimPhase::kMark, ++seen, 0); !reported) error = reported.error();
    }));
    if (error) return *error;
    DEDUPFS_TRY(mark_sources(*snapshot));
    do {
      for (const ChunkId id : live().take_claimed()) DEDUPFS_TRY(mark_sources_of(id));
    } while (!live().start_erasing());
    crash_point("reclaim.marked");
    return {};
  }

  Result<void> mark_sources(const Database::Snapshot& snapshot) {
    Result<void> result;
    DEDUPFS_TRY(volume_.database().walk(snapshot, Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto run = decode_run(key, value);
      if (!run) {
        result = run.error();
        return false;
      }
      for (std::size_t i = 0; i < run->chunks.size() && result; ++i)
        if (run->chunks[i].is_delta() && live().is_live(run->id_of(i))) result = mark_all(run->chunks[i].sources);
      return result.has_value();
    }));
    return result;
  }

  // A source that nobody had marked may lie in front of where a walk is: it is followed at once.
  Result<void> mark_all(std::vector<ChunkId> sources) {
    while (!sources.empty()) {
      const ChunkId id = sources.back();
      sources.pop_back();
      if (!live().mark(id)) continue;
      DEDUPFS_ASSIGN(const auto run, find_run(volume_.database(), id));
      if (!run) continue;
      const auto& more = run->chunks[number_of(id) - number_of(run->first)].sources;
      sources.insert(sources.end(), more.begin(), more.end());
    }
    return {};
  }

  Result<void> mark_sources_of(ChunkId id) {
    DEDUPFS_ASSIGN(const auto run, find_run(volume_.database(), id));
    if (!run) return {};  // not committed: its own sources were claimed
    return mark_all(run->chunks[number_of(id) - number_of(run->first)].sources);
  }

  // ------------------------------------------------------------ erase

  Result<void> erase() {
    const auto snapshot = volume_.database().snapshot();
    if (volume_.superblock().delta.enabled()) DEDUPFS_TRY(erase(*snapshot, true));
    return erase(*snapshot, false);
  }

  Result<void> erase(const Database::Snapshot& snapshot, bool fingerprints_of_deltas) {
    Result<void> result;
    DEDUPFS_TRY(volume_.database().walk(snapshot, Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto run = decode_run(key, value);
      if (run) result = erase_from(*run, fingerprints_of_deltas);
      return result.has_value();
    }));
    DEDUPFS_TRY(result);
    return commit_erased();
  }

  Result<void> erase_from(const ChunkRun& run, bool fingerprints_of_deltas) {
    DEDUPFS_TRY(report(ReclaimPhase::kErase, number_of(run.first), volume_.chunks().end_of_ids()));
    std::optional<std::vector<RegionEntry>> directory;
    for (std::size_t from = 0; from < run.chunks.size();) {
      const auto is_wanted = [&](std::size_t i) {
        return !live().is_live(run.id_of(i)) && (run.chunks[i].is_delta() || !fingerprints_of_deltas);
      };
      std::size_t to = from;
      while (to < run.chunks.size() && is_wanted(to)) ++to;
      if (to == from) {
        if (!fingerprints_of_deltas) ++findings_.live_chunks;
        ++from;
        continue;
      }
      if (!directory) {
        auto read = volume_.containers().read_directory(run.place);
        if (!read) {
          // Without their fingerprints they cannot be erased; as damaged ones they are nobody's reference.
          for (std::size_t i = 0; i < run.chunks.size(); ++i) volume_.chunks().note_damaged(run.id_of(i));
          return {};
        }
        directory = std::move(*read);
        std::ranges::sort(*directory, {}, &RegionEntry::id);
      }
      DEDUPFS_TRY(erase_chunks(run, from, to, *directory, fingerprints_of_deltas));
      from = to;
    }
    return erased_together_ < kErasedTogether ? Result<void>() : commit_erased();
  }

  Result<void> erase_chunks(const ChunkRun& run, std::size_t from, std::size_t to,
                            const std::vector<RegionEntry>& directory, bool keeps_places) {
    ErasedChunks erased{.first = run.id_of(from), .fingerprints = {}, .keeps_places = keeps_places};
    for (std::size_t i = from; i < to; ++i) {
      const auto entry = std::ranges::lower_bound(directory, run.id_of(i), {}, &RegionEntry::id);
      if (entry == directory.end() || entry->id != run.id_of(i))
        return Error{ErrorCode::kCorruption, "the index is damaged; run fsck.dedupfs on the volume"};
      erased.fingerprints.push_back(entry->fingerprint);
    }
    erased_together_ += to - from;
    if (!keeps_places) findings_.erased_chunks += to - from;
    return host_.in_group([&]() -> Result<void> {
      volume_.chunks().erase(std::move(erased));
      return {};
    });
  }

  Result<void> commit_erased() {
    if (std::exchange(erased_together_, 0) == 0) return {};
    DEDUPFS_TRY(host_.commit());
    crash_point("reclaim.erased");
    return {};
  }

  // ------------------------------------------------------------ sweep

  struct Garbage {
    std::uint32_t container = 0;
    std::uint64_t bytes = 0;  // of the file
    std::uint64_t live_bytes = 0;

    double share() const { return 1 - static_cast<double>(live_bytes) / static_cast<double>(bytes); }
  };

  Result<void> sweep() {
    DEDUPFS_ASSIGN(const std::vector<Garbage> containers, choose());
    std::uint64_t moved = 0;
    for (std::size_t i = 0; i < containers.size(); ++i) {
      DEDUPFS_TRY(progress_(ReclaimPhase::kSweep, i, containers.size()));
      const Garbage& garbage = containers[i];
      const auto evacuated = volume_.chunks().evacuate(garbage.container, host_.in_group);
      if (!evacuated && evacuated.error().code() != ErrorCode::kCorruption &&
          evacuated.error().code() != ErrorCode::kBusy)
        return evacuated.error();
      if (!evacuated) {
        spdlog::warn("container {} stays as it is: {}", garbage.container, evacuated.error().message());
        continue;
      }
      ++findings_.swept_containers;
      findings_.freed_bytes += garbage.bytes;
      findings_.moved_bytes += garbage.live_bytes;
      moved += garbage.live_bytes;
      crash_point("reclaim.evacuated");
      if (moved < kMovedTogether && i + 1 < containers.size()) continue;
      DEDUPFS_TRY(host_.commit());
      moved = 0;
    }
    return host_.commit();
  }

  // The emptiest first: they give most for what has to be moved.
  Result<std::vector<Garbage>> choose() {
    // The index knows nothing yet of what open groups have in a container. One that is sealed takes nothing more, and what it has
    // is committed now.
    DEDUPFS_ASSIGN(const auto containers, volume_.containers().list());
    DEDUPFS_TRY(host_.commit());
    DEDUPFS_ASSIGN(const auto live_bytes, live_bytes_by_container());
    std::vector<Garbage> chosen;
    for (const auto& container : containers) {
      if (!container.sealed || container.damage) continue;
      const auto live = live_bytes.find(container.id);
      const Garbage garbage{container.id, container.bytes, live == live_bytes.end() ? 0 : live->second};
      findings_.garbage_bytes += garbage.bytes - std::min(garbage.bytes, garbage.live_bytes);
      if (garbage.share() >= settings_.garbage_share) chosen.push_back(garbage);
    }
    std::ranges::sort(chosen, {}, [](const Garbage& garbage) { return -garbage.share(); });
    return chosen;
  }

  Result<std::map<std::uint32_t, std::uint64_t>> live_bytes_by_container() {
    std::map<std::uint32_t, std::uint64_t> bytes;
    const auto snapshot = volume_.database().snapshot();
    DEDUPFS_TRY(volume_.database().walk(*snapshot, Family::kChunks, [&](std::string_view key, std::string_view value) {
      const auto run = decode_run(key, value);
      if (!run) return true;  // what it covers is in no reader's way, and its container is damaged or has more of it
      std::uint64_t payload_bytes = 0;
      for (const ChunkRun::Chunk& chunk : run->chunks) payload_bytes += chunk.payload_length();
      bytes[run->place.container] += run->disk_bytes_of(payload_bytes);
      return true;
    }));
    return bytes;
  }

  Volume& volume_;
  const ReclaimHost& host_;
  const ReclaimSettings& settings_;
  const ReclaimProgress& progress_;
  ReclaimFindings findings_;
  std::uint64_t reports_ = 0;
  std::size_t erased_together_ = 0;
};

}  // namespace

Result<ReclaimFindings> reclaim(Volume& volume, const ReclaimHost& host, const ReclaimSettings& settings,
                                const ReclaimProgress& progress) {
  return Reclaim(volume, host, settings, progress).run();
}

}  // namespace dedupfs
