#include "store/reclaim.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/crash_point.h"
#include "store/chunk_reader.h"
#include "store/chunk_set.h"
#include "store/rebase.h"
#include "store/run_finder.h"

namespace dedupfs {
namespace {

constexpr std::size_t kErasedTogether = 1 << 16;     // chunks a commit
constexpr std::uint64_t kMovedTogether = 256 << 20;  // bytes on disk a commit
constexpr std::uint64_t kBetweenReports = 1 << 12;   // references or runs
// What is moved in the order of files; their ids are kept in memory. They have 80 GB or so.
constexpr std::size_t kMostInOrder = 8 << 20;
// Of the room that there is: until all of it was moved, it is there twice.
constexpr std::uint64_t kRoomShareInOrder = 2;
// Moving a container for less is not worth it, however much garbage there is in all.
constexpr double kLeastShare = 0.02;
// A container of less, of which nothing will come any more, is joined with others of that kind.
constexpr std::uint64_t kSmallContainer = 4 << 20;
// The index is compacted where the erased chunks are more than this part of all.
constexpr std::uint64_t kCompactedShare = 20;

class Reclaim {
 public:
  Reclaim(Volume& volume, const ReclaimHost& host, const ReclaimSettings& settings, const ReclaimProgress& progress)
      : volume_(volume), host_(host), settings_(settings), progress_(progress) {}

  Result<ReclaimFindings> run() {
    DEDUPFS_TRY(host_.await_deletions([this] { return progress_(ReclaimPhase::kMark, 0, findings_); }));
    const auto moving = volume_.chunks().start_moving();
    const std::uint64_t dropped_bytes = volume_.chunks().dropped_bytes();
    if (live().is_erasing()) DEDUPFS_TRY(host_.commit());  // what an earlier reclaim could not commit
    volume_.chunks().finish_reclaim();
    live().start_marking(volume_.chunks().end_of_ids());
    const auto erased = [&]() -> Result<void> {
      DEDUPFS_TRY(mark());
      return erase();
    }();
    // The dead stay nobody's until it is durable that they are.
    DEDUPFS_TRY(commit_erased());
    volume_.chunks().finish_reclaim();
    DEDUPFS_TRY(erased);
    DEDUPFS_TRY(sweep());
    volume_.chunks().forget_dropped(dropped_bytes);
    if (findings_.erased_chunks > findings_.live_chunks / kCompactedShare)
      for (const Family family : {Family::kFingerprints, Family::kChunks, Family::kFeatureIndex, Family::kRecipes})
        DEDUPFS_TRY(volume_.database().compact(family));
    return findings_;
  }

 private:
  Liveness& live() { return volume_.chunks().liveness(); }

  Result<void> report(ReclaimPhase phase, double done) {
    return reports_++ % kBetweenReports == 0 ? progress_(phase, done, findings_) : Result<void>();
  }

  // ------------------------------------------------------------ mark

  Result<void> mark() {
    // References that were made before claims were noted are in this commit.
    DEDUPFS_TRY(host_.commit());
    const auto snapshot = volume_.database().snapshot();
    DEDUPFS_TRY(host_.references(*snapshot, [&](ChunkId id, double progress) {
      live().mark(id);
      return report(ReclaimPhase::kMark, progress);
    }));
    Rebase rebase(volume_, host_, progress_, findings_);
    DEDUPFS_ASSIGN(const bool has_bases, rebase.run(settings_.bases_left));
    crash_point("reclaim.rebased");
    if (has_bases) DEDUPFS_TRY(mark_sources(*volume_.database().snapshot()));
    host_.before_erasing();
    // Before the last claim, so that whatever is in it was stored, and marked by who stored it, while claims were noted.
    erasable_ = volume_.database().snapshot();
    do {
      for (const ChunkId id : live().take_claimed()) DEDUPFS_TRY(mark_sources_of(id));
    } while (!live().start_erasing());
    crash_point("reclaim.marked");
    return {};
  }

  Result<void> mark_sources(const Database::Snapshot& snapshot) {
    return walk_runs(volume_.database(), snapshot, [&](const ChunkRun& run) -> Result<void> {
      DEDUPFS_TRY(report(ReclaimPhase::kMark, 1));
      for (std::size_t i = 0; i < run.chunks.size(); ++i)
        if (run.chunks[i].is_delta() && live().is_live(run.id_of(i))) DEDUPFS_TRY(mark_all(run.chunks[i].sources));
      return {};
    });
  }

  // A source that nobody had marked may lie in front of where a walk is: it is followed at once.
  Result<void> mark_all(std::vector<ChunkId> sources) {
    while (!sources.empty()) {
      const ChunkId id = sources.back();
      sources.pop_back();
      if (!live().mark(id)) continue;
      DEDUPFS_ASSIGN(const auto run, find_run(volume_.database(), id));
      if (!run) continue;
      const auto& more = run->at(id).sources;
      sources.insert(sources.end(), more.begin(), more.end());
    }
    return {};
  }

  Result<void> mark_sources_of(ChunkId id) {
    DEDUPFS_ASSIGN(const auto run, find_run(volume_.database(), id));
    if (!run) return {};  // not committed: its own sources were claimed
    return mark_all(run->at(id).sources);
  }

  // ------------------------------------------------------------ erase

  // Chunks that deltas are made from go after these, so that whenever a crash comes, no chunk of the index lacks its sources.
  Result<void> erase() {
    std::optional<ChunkSet> needed;  // what had to wait for the last round; nothing before the first
    for (int round = 0; round <= kDeepestDelta && (!needed || !needed->empty()); ++round) {
      DEDUPFS_ASSIGN(ChunkSet still_needed, sources_of_dead(needed));
      DEDUPFS_TRY(walk_runs(volume_.database(), *erasable_, [&](const ChunkRun& run) {
        return erase_from(run, [&](ChunkId id) {
          return !live().is_live(id) && (!needed || needed->contains(id)) && !still_needed.contains(id);
        });
      }));
      DEDUPFS_TRY(commit_erased());
      needed = std::move(still_needed);
    }
    erasable_.reset();
    return findings_.erased_chunks == 0 ? Result<void>() : volume_.chunks().forget_dead_features();
  }

  // Of the dead ones that are there still.
  Result<ChunkSet> sources_of_dead(const std::optional<ChunkSet>& still_there) {
    ChunkSet sources;
    if (!volume_.superblock().delta.enabled()) return sources;
    DEDUPFS_TRY(walk_runs(volume_.database(), *erasable_, [&](const ChunkRun& run) -> Result<void> {
      for (std::size_t i = 0; i < run.chunks.size(); ++i) {
        const ChunkId id = run.id_of(i);
        if (!run.chunks[i].is_delta() || live().is_live(id) || (still_there && !still_there->contains(id))) continue;
        for (const ChunkId source : run.chunks[i].sources)
          if (!live().is_live(source)) sources.insert(source);
      }
      return {};
    }));
    return sources;
  }

  Result<void> erase_from(const ChunkRun& run, const std::function<bool(ChunkId)>& is_wanted) {
    DEDUPFS_TRY(
        report(ReclaimPhase::kErase, static_cast<double>(number_of(run.first)) / static_cast<double>(live().end())));
    std::optional<std::vector<RegionEntry>> directory;
    for (std::size_t from = 0; from < run.chunks.size();) {
      std::size_t to = from;
      while (to < run.chunks.size() && is_wanted(run.id_of(to))) ++to;
      if (to == from) {
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
      DEDUPFS_TRY(erase_chunks(run, from, to, *directory));
      from = to;
    }
    return erased_together_ < kErasedTogether ? Result<void>() : commit_erased();
  }

  Result<void> erase_chunks(const ChunkRun& run, std::size_t from, std::size_t to,
                            const std::vector<RegionEntry>& directory) {
    ErasedChunks erased{.first = run.id_of(from), .fingerprints = {}};
    for (std::size_t i = from; i < to; ++i) {
      const auto entry = std::ranges::lower_bound(directory, run.id_of(i), {}, &RegionEntry::id);
      if (entry == directory.end() || entry->id != run.id_of(i)) {
        // The index errs. All of them stay, and may not be found, since what they are made from goes.
        for (std::size_t stays = from; stays < to; ++stays) volume_.chunks().note_damaged(run.id_of(stays));
        return {};
      }
      erased.fingerprints.push_back(entry->fingerprint);
    }
    erased_together_ += to - from;
    findings_.erased_chunks += to - from;
    return host_.in_group([&]() -> Result<void> {
      volume_.chunks().erase(std::move(erased));
      return {};
    });
  }

  Result<void> commit_erased() {
    if (erased_together_ == 0) return {};
    DEDUPFS_TRY(host_.commit());
    erased_together_ = 0;
    crash_point("reclaim.erased");
    return {};
  }

  // ------------------------------------------------------------ sweep

  struct Usage {
    std::uint32_t container = 0;
    std::uint64_t bytes = 0;  // of the file
    std::uint64_t live_bytes = 0;
    std::uint64_t live_chunks = 0;
    std::uint64_t moved_chunks = 0;  // of these, already
    bool is_damaged = false;         // its header

    bool is_empty() const { return live_chunks == moved_chunks; }
    std::uint64_t left_chunks() const { return live_chunks - moved_chunks; }
    std::uint64_t garbage_bytes() const { return bytes - std::min(bytes, live_bytes); }
    double share() const { return bytes == 0 ? 1 : static_cast<double>(garbage_bytes()) / static_cast<double>(bytes); }
  };

  Result<void> sweep() {
    DEDUPFS_ASSIGN(std::vector<Usage> containers, choose());
    DEDUPFS_ASSIGN(const double done_in_order, move_in_order(containers));
    double all_bytes = 1;  // there may be empty files only
    for (const Usage& container : containers) all_bytes += static_cast<double>(container.bytes);
    double done_bytes = 0;
    std::uint64_t moved = 0;
    for (const Usage& container : containers) {
      const double done = done_in_order + (1 - done_in_order) * done_bytes / all_bytes;
      DEDUPFS_TRY(progress_(ReclaimPhase::kSweep, done, findings_));
      done_bytes += static_cast<double>(container.bytes);
      DEDUPFS_ASSIGN(bool fits, has_room(moved, container));
      if (!fits || moved > kMovedTogether) {
        DEDUPFS_TRY(host_.commit());  // which frees what was emptied before
        moved = 0;
        DEDUPFS_ASSIGN(fits, has_room(moved, container));
      }
      if (!fits) continue;
      DEDUPFS_ASSIGN(const bool is_swept, sweep(container));
      if (is_swept) moved += container.live_bytes;
    }
    return host_.commit();
  }

  // What moves anyway, and the newest files refer to, as far as there is room for it beside what is still to be emptied. Returns
  // which part of all that moves this is.
  Result<double> move_in_order(std::vector<Usage>& containers) {
    DEDUPFS_ASSIGN(const std::vector<ChunkId> order, order_of_newest(containers));
    if (order.empty()) return 0;
    std::uint64_t all_chunks = 1;
    for (const Usage& container : containers) all_chunks += container.live_chunks;
    DEDUPFS_ASSIGN(const std::uint64_t available, host_.available_bytes());
    std::uint64_t committed = 0;
    const auto go_on = [&](std::uint64_t bytes) -> Result<bool> {
      DEDUPFS_TRY(progress_(ReclaimPhase::kSweep, 0, findings_));
      if (bytes - committed > kMovedTogether) {
        DEDUPFS_TRY(host_.commit());
        committed = bytes;
      }
      return bytes < available / kRoomShareInOrder;
    };
    DEDUPFS_ASSIGN(MovedChunks moved, volume_.chunks().move_in_order(order, go_on, host_.in_group));
    DEDUPFS_TRY(host_.commit());
    std::uint64_t moved_chunks = 0;
    for (Usage& container : containers) moved_chunks += container.moved_chunks = moved[container.container];
    return static_cast<double>(moved_chunks) / static_cast<double>(all_chunks);
  }

  // The chunks that move, each where the newest file that has it needs it.
  Result<std::vector<ChunkId>> order_of_newest(const std::vector<Usage>& containers) {
    std::vector<ChunkId> order;
    if (!host_.newest_references) return order;
    std::set<std::uint32_t> emptied;
    for (const Usage& container : containers)
      if (!container.is_empty()) emptied.insert(container.container);
    if (emptied.empty()) return order;
    ChunkSet moving;
    DEDUPFS_TRY(walk_runs(volume_.database(), *volume_.database().snapshot(), [&](const ChunkRun& run) {
      for (std::size_t i = 0; i < run.chunks.size() && emptied.contains(run.place.container); ++i)
        moving.insert(run.id_of(i));
      return report(ReclaimPhase::kSweep, 0);
    }));
    ChunkSet seen;
    RunFinder runs(volume_.database());
    Result<void> visited;
    DEDUPFS_TRY(host_.newest_references([&](ChunkId id) {
      visited = visit_needed(id, runs, seen, [&](ChunkId needed) {
        if (moving.contains(needed)) order.push_back(needed);
      });
      if (visited) visited = report(ReclaimPhase::kSweep, 0);
      return visited.has_value() && order.size() < kMostInOrder;
    }));
    DEDUPFS_TRY(visited);
    return order;
  }

  // What a reader of the chunk needs and has not been seen yet: the chunk, and what it is made from.
  Result<void> visit_needed(ChunkId id, RunFinder& runs, ChunkSet& seen, const std::function<void(ChunkId)>& visit) {
    const std::uint64_t end = volume_.chunks().end_of_ids();
    for (std::vector<ChunkId> wanted{id}; !wanted.empty();) {
      const ChunkId next = wanted.back();
      wanted.pop_back();
      if (number_of(next) >= end || !seen.insert(next)) continue;  // a damaged recipe may name any
      DEDUPFS_ASSIGN(const ChunkRun* const run, runs.find(next));
      if (run == nullptr) continue;
      visit(next);
      const std::vector<ChunkId>& sources = run->at(next).sources;
      wanted.insert(wanted.end(), sources.rbegin(), sources.rend());
    }
    return {};
  }

  Result<bool> has_room(std::uint64_t moved, const Usage& container) const {
    if (container.is_empty()) return true;
    DEDUPFS_ASSIGN(const std::uint64_t available, host_.available_bytes());
    return moved + container.live_bytes < available;
  }

  // False if it stays.
  Result<bool> sweep(const Usage& container) {
    const auto evacuated = volume_.chunks().evacuate(container.container, container.left_chunks(), host_.in_group);
    if (!evacuated) {
      const ErrorCode code = evacuated.error().code();
      if (code != ErrorCode::kCorruption && code != ErrorCode::kIo && code != ErrorCode::kBusy)
        return evacuated.error();
      spdlog::warn("container {} stays as it is: {}", container.container, evacuated.error().message());
      return false;
    }
    ++findings_.swept_containers;
    findings_.swept_bytes += container.bytes;
    findings_.moved_bytes += container.live_bytes;
    findings_.garbage_bytes -= container.garbage_bytes();
    crash_point("reclaim.evacuated");
    return true;
  }

  // The emptiest first: they give most for what has to be moved.
  Result<std::vector<Usage>> choose() {
    // Of what open groups have in a container the index knows nothing yet; so it is looked at when nothing more comes, and
    // what came is committed.
    const std::uint32_t end = volume_.containers().begin_new_container();
    DEDUPFS_TRY(host_.commit());
    DEDUPFS_ASSIGN(std::vector<Usage> containers, usage_before(end));
    std::uint64_t all_bytes = 0;
    for (const Usage& container : containers) {
      all_bytes += container.bytes;
      findings_.garbage_bytes += container.garbage_bytes();
    }
    std::erase_if(containers, [](const Usage& container) { return container.is_damaged && !container.is_empty(); });
    std::ranges::sort(containers, {}, [](const Usage& container) { return -container.share(); });

    std::uint64_t garbage_bytes = findings_.garbage_bytes;
    auto end_of_chosen = containers.begin();
    for (; end_of_chosen != containers.end(); ++end_of_chosen) {
      const bool is_enough =
          static_cast<double>(garbage_bytes) <= settings_.garbage_left * static_cast<double>(all_bytes);
      if (!end_of_chosen->is_empty() && (is_enough || end_of_chosen->share() < kLeastShare)) break;
      garbage_bytes -= end_of_chosen->garbage_bytes();
      all_bytes -= end_of_chosen->garbage_bytes();
    }
    const auto is_small = [](const Usage& container) { return container.bytes < kSmallContainer; };
    const auto end_of_small = std::stable_partition(end_of_chosen, containers.end(), is_small);
    if (end_of_small - end_of_chosen > 1) end_of_chosen = end_of_small;
    containers.erase(end_of_chosen, containers.end());
    return containers;
  }

  Result<std::vector<Usage>> usage_before(std::uint32_t end) {
    std::map<std::uint32_t, Usage> by_container;
    DEDUPFS_ASSIGN(const auto containers, volume_.containers().list());
    for (const auto& container : containers)
      if (container.id < end)
        by_container[container.id] = {
            .container = container.id, .bytes = container.bytes, .is_damaged = container.damage.has_value()};
    DEDUPFS_TRY(walk_runs(volume_.database(), *volume_.database().snapshot(), [&](const ChunkRun& run) -> Result<void> {
      const auto usage = by_container.find(run.place.container);
      if (usage == by_container.end()) return {};
      std::uint64_t payload_bytes = 0;
      for (const ChunkRun::Chunk& chunk : run.chunks) payload_bytes += chunk.payload_length();
      usage->second.live_bytes += run.disk_bytes_of(payload_bytes);
      usage->second.live_chunks += run.chunks.size();
      findings_.live_chunks += run.chunks.size();
      return {};
    }));
    std::vector<Usage> usage;
    usage.reserve(by_container.size());
    for (const auto& [number, of_container] : by_container) usage.push_back(of_container);
    return usage;
  }

  Volume& volume_;
  const ReclaimHost& host_;
  const ReclaimSettings& settings_;
  const ReclaimProgress& progress_;
  ReclaimFindings findings_;
  std::shared_ptr<const Database::Snapshot> erasable_;
  std::uint64_t reports_ = 0;
  std::size_t erased_together_ = 0;
};

}  // namespace

Result<ReclaimFindings> reclaim(Volume& volume, const ReclaimHost& host, const ReclaimSettings& settings,
                                const ReclaimProgress& progress) {
  return Reclaim(volume, host, settings, progress).run();
}

}  // namespace dedupfs
