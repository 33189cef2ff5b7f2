#include "store/reclaim/rebase.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "store/chunks/chunk_reader.h"
#include "store/format/delta_sources.h"
#include "store/relocation/erasure.h"
#include "store/relocation/relocator.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kStoredTogether = 64 << 20;  // bytes a commit, before compression
// Few, because only a committed chunk may take a base's place.
constexpr std::uint64_t kChunksTogether = 1 << 10;
constexpr std::uint64_t kExtentsBetweenReports = 1 << 12;
constexpr std::uint64_t kChunksBetweenReports = 1 << 6;
// The index's bytes for a chunk: fingerprint, features, its part of an extent. Measured on the data of docs/benchmarks.md.
constexpr std::uint64_t kIndexBytes = 50;
// A chunk is oversized if it would take more than this many times its bases, before compression. It waits until all are known.
constexpr std::uint64_t kWorth = 2;
// Beyond, it begins afresh: a chunk that does not find the replacement base takes its place and costs space.
constexpr std::size_t kMaxReplacementBases = 1 << 20;

}  // namespace

// A chunk and its sources, always by the likely base, down to a chunk that is needed.
struct Rebase::Chain {
  std::vector<ChunkId> bases;  // those above
  std::uint64_t payload_bytes = 0;
  double disk_share = 1;       // of the payload of the last one
  std::optional<ChunkId> end;  // the one that is needed, unless all of it is bases
};

Result<bool> Rebase::run(double min_share) {
  if (!volume_.superblock().delta.enabled()) return false;
  DEDUPFS_TRY(plan());
  if (bases_.empty()) return false;
  if (returned_bytes_ - replaced_bytes_ < min_share * needed_bytes_) return true;
  DEDUPFS_ASSIGN(bool again, pass(false));
  DEDUPFS_ASSIGN(const bool is_worth_it, are_oversized_worth_it());
  if (!is_worth_it) DEDUPFS_TRY(keep(bases_of_oversized_));
  again = again || (is_worth_it && !bases_of_oversized_.empty());
  if (again) DEDUPFS_TRY(pass(true));
  return true;
}

// ---------------------------------------------------------------- plan

Result<void> Rebase::plan() {
  const auto snapshot = volume_.database().snapshot();
  return walk_extents(volume_.database(), *snapshot, [&](const ChunkExtent& extent) -> Result<void> {
    DEDUPFS_TRY(report(ReclaimPhase::kMark, extent.first, kExtentsBetweenReports));
    std::uint64_t payload_bytes = 0;
    for (std::size_t i = 0; i < extent.chunks.size(); ++i) {
      if (!is_needed(extent.id_of(i))) continue;
      payload_bytes += extent.chunks[i].payload_length();
      if (!std::ranges::all_of(extent.chunks[i].sources, [this](ChunkId id) { return is_needed(id); }))
        DEDUPFS_TRY(plan(extent, extent.chunks[i]));
    }
    needed_bytes_ += static_cast<double>(extent.disk_bytes_of(payload_bytes));
    return {};
  });
}

Result<void> Rebase::plan(const ChunkExtent& extent, const ChunkExtent::Chunk& chunk) {
  DEDUPFS_TRY(add_bases(chunk.sources));
  DEDUPFS_ASSIGN(const Chain chain, chain_of(likely_base(chunk.sources)));
  const bool has_replacement =
      std::ranges::any_of(chain.bases, [this](ChunkId id) { return with_replacement_.contains(id); });
  if (!chain.end && !has_replacement)
    replaced_bytes_ +=
        chain.disk_share * chunk.raw_length - static_cast<double>(extent.disk_bytes_of(chunk.delta_length));
  for (const ChunkId id : chain.bases) with_replacement_.insert(id);
  return {};
}

// The deltas of a base inherit its difference from its own sources; measured, about half of it.
Result<void> Rebase::add_bases(const DeltaSources& sources) {
  return visit_unneeded({sources.begin(), sources.end()}, [this](ChunkId id, const ChunkExtent& extent) {
    if (!bases_.insert(id)) return false;
    const ChunkExtent::Chunk& base = extent.at(id);
    const auto bytes = static_cast<double>(extent.disk_bytes_of(base.payload_length()));
    needed_bytes_ += bytes;
    returned_bytes_ += (base.is_delta() ? bytes / 2 : bytes) + static_cast<double>(kIndexBytes);
    return true;
  });
}

Result<void> Rebase::visit_unneeded(std::vector<ChunkId> chunks,
                                    const std::function<bool(ChunkId, const ChunkExtent&)>& visit) {
  while (!chunks.empty()) {
    const ChunkId id = chunks.back();
    chunks.pop_back();
    if (is_needed(id)) continue;
    DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
    if (extent == nullptr || !visit(id, *extent)) continue;
    const auto& sources = extent->at(id).sources;
    chunks.insert(chunks.end(), sources.begin(), sources.end());
  }
  return {};
}

// ---------------------------------------------------------------- pass

// Whether something was put off to the next.
Result<bool> Rebase::pass(bool is_last) {
  put_off_ = false;
  is_last_pass_ = is_last;
  reports_ = 0;
  const auto snapshot = volume_.database().snapshot();
  const auto walked = walk_extents(volume_.database(), *snapshot, [&](const ChunkExtent& extent) -> Result<void> {
    for (std::size_t i = 0; i < extent.chunks.size(); ++i)
      if (has_base(extent.chunks[i]) && volume_.chunks().erasure().liveness().is_live(extent.id_of(i)))
        DEDUPFS_TRY(rebase(extent, i));
    return {};
  });
  DEDUPFS_TRY(walked);
  DEDUPFS_TRY(commit());
  return put_off_;
}

// Each oversized chunk takes more than its own bases would give back. But these chunks share bases, and the bases share sources.
Result<bool> Rebase::are_oversized_worth_it() {
  double held_bytes = 0;
  ChunkSet held(max_bytes_);
  DEDUPFS_TRY(visit_unneeded(bases_of_oversized_, [&](ChunkId id, const ChunkExtent& extent) {
    if (!held.insert(id)) return false;
    held_bytes += static_cast<double>(extent.disk_bytes_of(extent.at(id).payload_length()) + kIndexBytes);
    return true;
  }));
  return held_bytes > oversized_bytes_;
}

Result<void> Rebase::rebase(const ChunkExtent& extent, std::size_t position) {
  const ChunkId id = extent.id_of(position);
  DEDUPFS_TRY(report(ReclaimPhase::kRebase, id, kChunksBetweenReports));
  DEDUPFS_ASSIGN(const std::uint64_t available, host_.available_bytes());
  if (available < pending_bytes_ + kStoredTogether) return {};  // another reclaim may find more room
  const auto stored = store(extent, position);
  if (stored) return {};
  const ErrorCode code = stored.error().code();
  if (code != ErrorCode::kCorruption && code != ErrorCode::kIo && code != ErrorCode::kBusy) return stored.error();
  spdlog::warn("chunk {} stays made from what it is: {}", number_of(id), stored.error().message());
  const DeltaSources& sources = extent.chunks[position].sources;
  return keep({sources.begin(), sources.end()});
}

Result<void> Rebase::store(const ChunkExtent& extent, std::size_t position) {
  const ChunkId id = extent.id_of(position);
  const ChunkExtent::Chunk& chunk = extent.chunks[position];
  DEDUPFS_ASSIGN(const Chain chain, chain_of(likely_base(chunk.sources)));
  const auto replacement =
      std::ranges::find_if(chain.bases, [this](ChunkId base) { return replacements_.contains(number_of(base)); });
  if (replacement != chain.bases.end() && !is_last_pass_ &&
      volume_.chunks().erasure().is_pending(replacements_.at(number_of(*replacement)).last)) {
    put_off_ = true;
    return {};
  }
  DEDUPFS_ASSIGN(const std::uint64_t given_back, payload_of_bases(chunk.sources));
  // A crash might lose a replacement base that is not committed yet, and leave its deltas: see Relocator::reencode().
  const auto may_be_source = [this](ChunkId other) {
    return is_needed(other) && !volume_.chunks().erasure().is_pending(other);
  };
  std::vector<DeltaBasis> bases;
  for (const StandIn stand_in : {StandIn::kLastReplacement, StandIn::kFirstReplacement, StandIn::kSources}) {
    DEDUPFS_ASSIGN(auto basis, basis_of(chunk, stand_in));
    if (bases.empty() || bases.back().sources != basis.sources) bases.push_back(basis);
  }
  // The next chunk mostly resembles the chunk behind the base of the previous one.
  if (number_of(last_) + 1 == number_of(id) && !last_basis_.sources.empty())
    bases.push_back(basis_around(ChunkId{number_of(last_basis_.base) + 1}, id, may_be_source));
  last_ = id;
  last_basis_ = bases.front();

  const std::uint64_t max_bytes =
      is_last_pass_ ? UINT64_MAX
                    : chunk.delta_length + std::max(given_back, chain.payload_bytes) * kWorth + kIndexBytes;
  DEDUPFS_ASSIGN(const auto bytes,
                 volume_.chunks().relocator().reencode(extent, id, bases, may_be_source, max_bytes, host_.in_group));
  if (bytes > max_bytes) {
    // One that comes after another like it may be made from that.
    const auto had_one = [this](ChunkId base) { return had_oversized_.contains(base); };
    if (std::ranges::none_of(chain.bases, had_one)) oversized_bytes_ += chain.disk_share * (bytes - chunk.delta_length);
    for (const ChunkId base : chunk.sources)
      if (!is_needed(base) && had_oversized_.insert(base)) bases_of_oversized_.push_back(base);
    return {};
  }
  ++findings_.rebased_chunks;
  findings_.rebased_bytes += bytes;
  if (replacements_.size() > kMaxReplacementBases) replacements_.clear();
  for (const ChunkId base : chain.bases)
    replacements_.try_emplace(number_of(base), Replacements{id, id}).first->second.last = id;
  pending_bytes_ += bytes;
  ++pending_chunks_;
  return pending_bytes_ < kStoredTogether && pending_chunks_ < kChunksTogether ? Result<void>() : commit();
}

Result<void> Rebase::commit() {
  if (pending_bytes_ == 0) return {};
  DEDUPFS_TRY(host_.commit());
  pending_bytes_ = pending_chunks_ = 0;
  return {};
}

// With all that they need in turn.
Result<void> Rebase::keep(std::vector<ChunkId> chunks) {
  return visit_unneeded(std::move(chunks), [this](ChunkId id, const ChunkExtent&) { return kept_.insert(id); });
}

// ---------------------------------------------------------------- what takes a base's place

Result<DeltaBasis> Rebase::basis_of(const ChunkExtent::Chunk& chunk, StandIn stand_in) {
  std::vector<ChunkId> sources;
  std::size_t base = 0;  // where it is
  for (std::size_t i = 0; i < chunk.sources.size(); ++i) {
    const bool is_base = i == chunk.sources.size() / 2;
    const std::size_t before = sources.size();
    DEDUPFS_TRY(add_stand_ins(chunk.sources[i], stand_in, 0, sources));
    if (is_base) base = (before + sources.size()) / 2;
  }
  // As many on this side as on that.
  while (sources.size() > kMaxDeltaSources) {
    if (base > sources.size() / 2) {
      sources.erase(sources.begin());
      --base;
    } else {
      sources.pop_back();
    }
  }
  if (sources.empty()) return DeltaBasis();
  return DeltaBasis{DeltaSources(sources), sources[std::min(base, sources.size() - 1)]};
}

// The needed chunks among a base's sources, and among theirs, take its place. The base resembles one of them, and its neighbours
// resemble the others.
Result<void> Rebase::add_stand_ins(ChunkId id, StandIn stand_in, int depth, std::vector<ChunkId>& stand_ins) {
  const auto add = [&](ChunkId chunk) {
    if (std::ranges::find(stand_ins, chunk) == stand_ins.end()) stand_ins.push_back(chunk);
  };
  if (is_needed(id)) {
    add(id);
    return {};
  }
  // A crash might lose a chunk that is not committed yet, and leave its deltas: see Relocator::reencode().
  const auto replacements = stand_in == StandIn::kSources ? replacements_.end() : replacements_.find(number_of(id));
  if (replacements != replacements_.end()) {
    const auto [first, last] = replacements->second;
    const ChunkId replacement =
        stand_in == StandIn::kLastReplacement && !volume_.chunks().erasure().is_pending(last) ? last : first;
    if (!volume_.chunks().erasure().is_pending(replacement)) {
      add(replacement);
      return {};
    }
  }
  DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
  if (extent == nullptr || depth > kDeepestDelta) return {};
  const DeltaSources sources = extent->at(id).sources;
  for (const ChunkId source : sources) DEDUPFS_TRY(add_stand_ins(source, stand_in, depth + 1, stand_ins));
  return {};
}

Result<Rebase::Chain> Rebase::chain_of(ChunkId id) {
  Chain chain;
  for (int depth = 0; depth <= kDeepestDelta; ++depth) {
    if (is_needed(id)) {
      chain.end = id;
      return chain;
    }
    DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
    if (extent == nullptr) return chain;
    const ChunkExtent::Chunk& base = extent->at(id);
    chain.bases.push_back(id);
    chain.payload_bytes += base.payload_length();
    chain.disk_share = static_cast<double>(extent->region_disk_bytes) / std::max(extent->region_payload_bytes, 1U);
    if (!base.is_delta()) return chain;
    id = likely_base(base.sources);
  }
  return chain;
}

Result<std::uint64_t> Rebase::payload_of_bases(const DeltaSources& sources) {
  std::uint64_t bytes = 0;
  for (const ChunkId id : sources) {
    if (is_needed(id)) continue;
    DEDUPFS_ASSIGN(const ChunkExtent* const extent, extents_.find(id));
    if (extent != nullptr) bytes += extent->at(id).payload_length();
  }
  return bytes;
}

bool Rebase::is_needed(ChunkId id) const {
  return volume_.chunks().erasure().liveness().is_live(id) || kept_.contains(id);
}

bool Rebase::has_base(const ChunkExtent::Chunk& chunk) const {
  return std::ranges::any_of(chunk.sources, [this](ChunkId id) { return bases_.contains(id) && !is_needed(id); });
}

Result<void> Rebase::report(ReclaimPhase phase, ChunkId at, std::uint64_t between) {
  if (reports_++ % between != 0) return {};
  const auto end = static_cast<double>(volume_.chunks().erasure().liveness().end());
  return progress_(phase, phase == ReclaimPhase::kMark ? 1 : std::min(1.0, static_cast<double>(number_of(at)) / end),
                   findings_);
}

}  // namespace dedupfs
