// The part of a reclaim that gives space back. It empties containers with enough garbage, and those under a former key of an encrypted
// volume; or, to settle them, those with landed chunks: it moves their live chunks into new containers, and removes the old ones after the commit. See docs/reclaim.md and
// docs/settling.md.
//
// Containers without live chunks go first. The others follow in batches, so that there is room to move a batch. Each batch is
// gone before the next begins. Chunks that the newest files need move in the order in which a reader of these files needs them.
// So reading the newest files gets faster with each reclaim, not slower. The other chunks move as they lie.
//
// In the end settling gathers: what the newest files need and a hard disk would fetch from many places (plan_gathering()) moves
// together, also out of settled containers. Those that have much garbage then are emptied.
//
// Threads: one user at a time, while nobody else moves chunks; everything else goes on.
// Failure: a container stays if anything in it cannot be read, or if there is no room to move it. After an Error or a stop, some
//          chunks of one batch may be stored twice.
// Memory:  a bit a chunk, up to 64 MiB for the order, and some bytes a container.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/chunks/chunk_set.h"
#include "store/chunks/extent_finder.h"
#include "store/reclaim/reclaim_types.h"
#include "store/volume/volume.h"

namespace dedupfs {

class CopyForward {
 public:
  CopyForward(Volume& volume, const ReclaimHost& host, const ReclaimSettings& settings, const ReclaimProgress& progress,
              ReclaimFindings& findings)
      : volume_(volume), host_(host), settings_(settings), progress_(progress), findings_(findings) {}

  // When it returns, all its work is committed.
  Result<void> run();

 private:
  struct Usage;
  struct Place {
    ChunkId id{};
    std::uint32_t container = 0;
  };

  Result<std::vector<Usage>> choose();
  void keep_the_young(std::vector<Usage>& containers) const;
  void keep_those_with_garbage(std::vector<Usage>& containers, std::uint64_t all_bytes) const;
  Result<std::vector<Usage>> usage_before(std::uint32_t end);
  static std::uint64_t garbage_in(std::span<const Usage> containers);
  Result<void> find_order(const std::vector<Usage>& containers);
  Result<void> visit_needed(ChunkId id, ExtentFinder& extents, ChunkSet& seen,
                            const std::function<void(ChunkId, const ChunkExtent&)>& visit) const;
  Result<void> empty(std::span<Usage> batch);
  // Notes in `containers` how many chunks moved out of each, after an Error, too.
  Result<void> move_in_order(const std::vector<ChunkId>& order, std::span<Usage> containers, std::uint64_t max_decoded);
  std::uint64_t garbage_of_moves(const Usage& container) const;
  Result<void> empty_as_they_lie(std::span<const Usage> batch);
  Result<bool> empty(const Usage& container);
  Result<void> gather();
  Result<std::uint64_t> gather_budget() const;
  Result<void> empty_gathered(std::vector<Usage>& containers, std::uint64_t budget);
  Result<void> report(std::uint64_t more_bytes);

  Volume& volume_;
  const ReclaimHost& host_;
  const ReclaimSettings& settings_;
  const ReclaimProgress& progress_;
  ReclaimFindings& findings_;

  std::vector<Place> order_;         // of what moves, as the newest files need it
  std::uint64_t stored_before_ = 0;  // by all moves
  std::uint64_t all_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
};

}  // namespace dedupfs
