// The part of a reclaim that re-encodes deltas, so that their *bases* can go: chunks that only deltas need. See docs/reclaim.md.
//
//   plan   finds the bases, and estimates how much would come back: the bytes of the bases, less those of the chunks that must take
//          their place.
//   pass   re-encodes each chunk that files refer to and that is made from a base: from the sources of the base, if those stay;
//          or from the chunk that took the base's place, its *replacement base*; or from nothing, and then it becomes the
//          replacement base.
//
// It erases nothing. A crash, an Error or a stop at any moment leaves old and new deltas, all of them whole, and bases that
// nothing needs, which the mark passes over.
//
// Threads: one user at a time, while a reclaim marks; everything else goes on.
// Failure: a chunk that cannot be read stays as it is, and so do its bases.
// Memory:  about four bits a chunk; 64 bytes for each base that has a replacement base, up to 64 MiB; 8 bytes for each base of an
//          oversized chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/chunks/chunk_set.h"
#include "store/chunks/extent_finder.h"
#include "store/reclaim/reclaim_types.h"
#include "store/relocation/delta_basis.h"
#include "store/volume/volume.h"

namespace dedupfs {

class Rebase {
 public:
  // By now, the chunks that files refer to must be live, and hardly any others. The findings count the re-encoded chunks.
  Rebase(Volume& volume, const ReclaimHost& host, const ReclaimProgress& progress, ReclaimFindings& findings)
      : volume_(volume),
        host_(host),
        progress_(progress),
        findings_(findings),
        max_bytes_(ChunkSet::limit_for(volume.database())),
        extents_(volume.database()) {}

  // Re-encodes nothing if less than this share of the needed bytes would come back. When it returns, all its work is committed.
  // Returns whether there were bases, whether or not they are still needed.
  Result<bool> run(double min_share);

 private:
  struct Chain;
  // Chunks that took a base's place: the last one is most like what comes next, the first one the least deep.
  struct Replacements {
    ChunkId first{};
    ChunkId last{};
  };
  // The chunks that take a base's place.
  enum class StandIn { kLastReplacement, kFirstReplacement, kSources };

  Result<void> plan();
  Result<void> plan(const ChunkExtent& extent, const ChunkExtent::Chunk& chunk);
  Result<void> add_bases(const DeltaSources& sources);
  Result<bool> pass(bool is_last);
  Result<bool> are_oversized_worth_it();
  Result<void> rebase(const ChunkExtent& extent, std::size_t position);
  Result<void> store(const ChunkExtent& extent, std::size_t position);
  Result<void> keep(std::vector<ChunkId> chunks);
  // Visits those of these chunks, of their sources, and so on, that nobody needs. If `visit` returns false, the sources of that
  // chunk are not visited.
  Result<void> visit_unneeded(std::vector<ChunkId> chunks,
                              const std::function<bool(ChunkId, const ChunkExtent&)>& visit);
  Result<void> commit();
  Result<void> report(ReclaimPhase phase, ChunkId at, std::uint64_t between);

  bool is_needed(ChunkId id) const;  // whether files refer to it, or it is a base that stays after all
  bool has_base(const ChunkExtent::Chunk& chunk) const;
  Result<Chain> chain_of(ChunkId id);
  Result<DeltaBasis> basis_of(const ChunkExtent::Chunk& chunk, StandIn stand_in);
  Result<void> add_stand_ins(ChunkId id, StandIn stand_in, int depth, std::vector<ChunkId>& stand_ins);
  Result<std::uint64_t> payload_of_bases(const DeltaSources& sources);

  Volume& volume_;
  const ReclaimHost& host_;
  const ReclaimProgress& progress_;
  ReclaimFindings& findings_;

  const std::uint64_t max_bytes_;  // of each set
  ChunkSet bases_{max_bytes_};
  ChunkSet kept_{max_bytes_};  // bases that stay: it would take more to do without them
  std::unordered_map<std::uint64_t, Replacements> replacements_;  // by number of the base
  ExtentFinder extents_;

  // The findings of the plan:
  ChunkSet with_replacement_{max_bytes_};
  double needed_bytes_ = 0;
  double returned_bytes_ = 0;  // that bases take
  double replaced_bytes_ = 0;  // that replacement bases will take

  ChunkId last_{};  // that was re-encoded, and from what
  DeltaBasis last_basis_;
  bool put_off_ = false;  // something, since an replacement base is not committed yet
  // About oversized chunks, which resemble no chunk except their bases:
  std::vector<ChunkId> bases_of_oversized_;
  ChunkSet had_oversized_{max_bytes_};  // the same
  double oversized_bytes_ = 0;
  bool is_last_pass_ = false;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t pending_chunks_ = 0;
  std::uint64_t reports_ = 0;
};

}  // namespace dedupfs
