#include "store/reclaim/reclaim.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/crash_point.h"
#include "store/chunks/chunk_reader.h"
#include "store/chunks/chunk_set.h"
#include "store/chunks/damage_record.h"
#include "store/chunks/dropped_bytes.h"
#include "store/format/format.h"
#include "store/reclaim/copy_forward.h"
#include "store/reclaim/rebase.h"
#include "store/relocation/erasure.h"
#include "store/relocation/relocator.h"
#include "store/volume/outdated_files.h"

namespace dedupfs {
namespace {

constexpr std::size_t kChunksErasedTogether = 1 << 16;  // a commit
constexpr std::uint64_t kBetweenReports = 1 << 12;      // references or runs
// A family of the index is compacted if more of it than this is tombstones.
constexpr double kMaxTombstoneShare = 0.05;

class Reclaim {
 public:
  Reclaim(Volume& volume, const ReclaimHost& host, const ReclaimSettings& settings, const ReclaimProgress& progress)
      : volume_(volume), host_(host), settings_(settings), progress_(progress) {}

  Result<ReclaimFindings> run() {
    findings_.goal = settings_.goal;
    if (settings_.goal == ReclaimGoal::kSettle) {
      DEDUPFS_TRY(host_.commit());  // what was written before is stored, and lands, before the containers are chosen
      const auto moving = volume_.chunks().relocator().start_moving();
      DEDUPFS_TRY(copy_forward());
      DEDUPFS_TRY(compact_index());
      return findings_;
    }
    DEDUPFS_TRY(host_.await_deletions([this] { return progress_(ReclaimPhase::kAwait, 0, findings_); }));
    const auto moving = volume_.chunks().relocator().start_moving();
    const std::uint64_t dropped_bytes = volume_.chunks().dropped().count();
    if (live().is_erasing()) DEDUPFS_TRY(host_.commit());  // what an earlier reclaim could not commit
    volume_.chunks().erasure().finish();
    live().start_marking(volume_.chunks().erasure().end_of_ids(), ChunkSet::limit_for(volume_.database()));
    const auto erased = [&]() -> Result<void> {
      DEDUPFS_TRY(mark());
      return erase();
    }();
    // The dead stay nobody's until it is durable that they are.
    DEDUPFS_TRY(commit_erased());
    volume_.chunks().erasure().finish();
    DEDUPFS_TRY(erased);
    DEDUPFS_TRY(copy_forward());
    volume_.chunks().dropped().subtract(dropped_bytes);
    DEDUPFS_TRY(compact_index());
    return findings_;
  }

 private:
  Result<void> copy_forward() { return CopyForward(volume_, host_, settings_, progress_, findings_).run(); }
  Liveness& live() { return volume_.chunks().erasure().liveness(); }

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
    // Sources of deltas are marked even if the superblock says that there are no deltas.
    if (has_bases || !volume_.superblock().delta.enabled()) DEDUPFS_TRY(mark_sources(*volume_.database().snapshot()));
    host_.before_erasing();
    // Taken before the last claim. So every chunk in it was stored, and marked by its writer, while claims were noted.
    erasable_ = volume_.database().snapshot();
    do {
      for (const ChunkId id : live().take_claimed()) DEDUPFS_TRY(mark_sources_of(id));
    } while (!live().start_erasing());
    DEDUPFS_TRY(live().require_complete());
    crash_point("reclaim.marked");
    return {};
  }

  Result<void> mark_sources(const Database::Snapshot& snapshot) {
    return walk_extents(volume_.database(), snapshot, [&](const ChunkExtent& extent) -> Result<void> {
      DEDUPFS_TRY(report(ReclaimPhase::kMark, 1));
      for (std::size_t i = 0; i < extent.chunks.size(); ++i)
        if (extent.chunks[i].is_delta() && live().is_live(extent.id_of(i)))
          DEDUPFS_TRY(mark_all(extent.chunks[i].sources));
      return {};
    });
  }

  // The walk may have passed a source that had no mark: the sources of that source are marked at once.
  Result<void> mark_all(const DeltaSources& sources) {
    std::vector<ChunkId> marked;  // whose own sources are not
    const auto mark = [&](const DeltaSources& some) {
      for (const ChunkId id : some)
        if (live().mark(id)) marked.push_back(id);
    };
    mark(sources);
    while (!marked.empty()) {
      const ChunkId id = marked.back();
      marked.pop_back();
      DEDUPFS_ASSIGN(const auto extent, find_extent(volume_.database(), id));
      if (extent) mark(extent->at(id).sources);
    }
    return {};
  }

  Result<void> mark_sources_of(ChunkId id) {
    DEDUPFS_ASSIGN(const auto extent, find_extent(volume_.database(), id));
    if (!extent) return {};  // not committed: its own sources were claimed
    return mark_all(extent->at(id).sources);
  }

  // ------------------------------------------------------------ erase

  // Chunks that deltas are made from go after these, so that whenever a crash comes, no chunk of the index lacks its sources.
  Result<void> erase() {
    std::unique_ptr<ChunkSet> needed;  // chunks that had to wait for this round; null before the first
    for (int round = 0; round <= kDeepestDelta && (!needed || !needed->empty()); ++round) {
      auto still_needed = std::make_unique<ChunkSet>(ChunkSet::limit_for(volume_.database()));
      DEDUPFS_TRY(add_sources_of_dead(needed.get(), *still_needed));
      DEDUPFS_TRY(walk_extents(volume_.database(), *erasable_, [&](const ChunkExtent& extent) {
        return erase_from(extent, [&](ChunkId id) {
          return !live().is_live(id) && (!needed || needed->contains(id)) && !still_needed->contains(id);
        });
      }));
      DEDUPFS_TRY(commit_erased());
      needed = std::move(still_needed);
    }
    erasable_.reset();
    return findings_.erased_chunks == 0 ? Result<void>() : volume_.chunks().erasure().forget_dead_features();
  }

  // Adds the sources of dead chunks that are still there.
  Result<void> add_sources_of_dead(const ChunkSet* still_there, ChunkSet& sources) {
    if (!volume_.superblock().delta.enabled()) return {};
    DEDUPFS_TRY(walk_extents(volume_.database(), *erasable_, [&](const ChunkExtent& extent) -> Result<void> {
      for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
        const ChunkId id = extent.id_of(i);
        if (!extent.chunks[i].is_delta() || live().is_live(id) ||
            (still_there != nullptr && !still_there->contains(id)))
          continue;
        for (const ChunkId source : extent.chunks[i].sources)
          if (!live().is_live(source)) sources.insert(source);
      }
      return {};
    }));
    return sources.require_complete();
  }

  Result<void> erase_from(const ChunkExtent& extent, const std::function<bool(ChunkId)>& is_wanted) {
    DEDUPFS_TRY(
        report(ReclaimPhase::kSweep, static_cast<double>(number_of(extent.first)) / static_cast<double>(live().end())));
    std::optional<std::vector<RegionEntry>> directory;
    for (std::size_t from = 0; from < extent.chunks.size();) {
      std::size_t to = from;
      while (to < extent.chunks.size() && is_wanted(extent.id_of(to))) ++to;
      if (to == from) {
        ++from;
        continue;
      }
      if (!directory) {
        auto read = volume_.containers().read_directory(extent.place);
        if (!read) {
          // Without their fingerprints they cannot be erased; as damaged ones they are nobody's reference.
          for (std::size_t i = 0; i < extent.chunks.size(); ++i) volume_.chunks().damage().note(extent.id_of(i));
          return {};
        }
        directory = std::move(*read);
        std::ranges::sort(*directory, {}, &RegionEntry::id);
      }
      DEDUPFS_TRY(erase_chunks(extent, from, to, *directory));
      from = to;
    }
    return erased_together_ < kChunksErasedTogether ? Result<void>() : commit_erased();
  }

  Result<void> erase_chunks(const ChunkExtent& extent, std::size_t from, std::size_t to,
                            const std::vector<RegionEntry>& directory) {
    ErasedChunks erased{.first = extent.id_of(from), .fingerprints = {}};
    for (std::size_t i = from; i < to; ++i) {
      const auto entry = std::ranges::lower_bound(directory, extent.id_of(i), {}, &RegionEntry::id);
      if (entry == directory.end() || entry->id != extent.id_of(i)) {
        // The index is wrong. All of them stay, and may not be found, since their sources go.
        for (std::size_t stays = from; stays < to; ++stays) volume_.chunks().damage().note(extent.id_of(stays));
        return {};
      }
      erased.fingerprints.push_back(entry->fingerprint);
    }
    erased_together_ += to - from;
    findings_.erased_chunks += to - from;
    return host_.in_group([&]() -> Result<void> {
      volume_.chunks().erasure().erase(std::move(erased));
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

  // ------------------------------------------------------------ compact

  // Whatever fails here, all space of containers is back, and the next reclaim tries again.
  Result<void> compact_index() {
    const std::set<std::string> outdated = outdated_files(volume_);
    for (std::size_t i = 0; i < kFamilyCount; ++i) {
      const double done = static_cast<double>(i) / static_cast<double>(kFamilyCount);
      const auto check_cancelled = [&] { return progress_(ReclaimPhase::kCompactIndex, done, findings_); };
      DEDUPFS_TRY(check_cancelled());
      const auto family = static_cast<Family>(i);
      auto compacted = compact_if_worthwhile(family, outdated, check_cancelled);
      if (compacted) continue;
      if (compacted.error().code() == ErrorCode::kInterrupted) return compacted;
      spdlog::warn("{} of the index could not be compacted: {}", name_of(family), compacted.error().message());
    }
    if (const auto emptied = volume_.database().empty_log(); !emptied)
      spdlog::warn("the log of the index could not be emptied: {}", emptied.error().message());
    return {};
  }

  bool has_outdated_table(Family family, const std::set<std::string>& outdated) const {
    if (outdated.empty()) return false;
    if (family == Family::kCounters) return true;  // Database::compact() takes tables with it that are of no family
    return std::ranges::any_of(volume_.database().table_names(family), [&](const std::string& name) {
      return outdated.contains(std::string(kIndexDirectory) + '/' + name);
    });
  }

  Result<void> compact_if_worthwhile(Family family, const std::set<std::string>& outdated,
                                     const std::function<Result<void>()>& check_cancelled) {
    DEDUPFS_ASSIGN(const double share, volume_.database().tombstone_share(family));
    if (share < kMaxTombstoneShare && !has_outdated_table(family, outdated)) return {};
    // For a while the new tables lie beside the old ones.
    const std::uint64_t bytes = volume_.database().table_bytes()[static_cast<std::size_t>(family)];
    DEDUPFS_ASSIGN(const std::uint64_t available, host_.available_bytes());
    if (bytes > available)
      return Error{ErrorCode::kNoSpace, fmt::format("{} more bytes of disk are needed", bytes - available)};
    return volume_.database().compact(family, check_cancelled);
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
