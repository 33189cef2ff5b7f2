// The part of a reclaim that gives space back: containers with enough garbage are emptied, what is left in them moves into new ones,
// and they are removed after the commit. See docs/design.md, "Reclaim".
//
// Containers of which nothing is left go first. The others follow in batches, so that there is room to move a batch, and each is gone
// before the next begins. What the newest files need of a batch moves in the order in which a reader of them needs it, so that
// reading them gets quicker with each reclaim, not slower; the rest moves as it lies.
//
// Threads: one user at a time, while nobody else moves chunks; everything else goes on.
// Failure: a container stays if anything in it cannot be read, or if there is no room to move it. After an Error or a stop there may
//          be two copies of what moved of one batch.
// Memory:  a bit a chunk and up to 64 MiB for the order, and some bytes a container.
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

  // What it did is committed in the end.
  Result<void> run();

 private:
  struct Usage;
  struct Place {
    ChunkId id{};
    std::uint32_t container = 0;
  };

  Result<std::vector<Usage>> choose();
  Result<std::vector<Usage>> usage_before(std::uint32_t end);
  Result<void> find_order(const std::vector<Usage>& containers);
  Result<void> visit_needed(ChunkId id, ExtentFinder& extents, ChunkSet& seen,
                            const std::function<void(ChunkId, const ChunkExtent&)>& visit) const;
  Result<void> empty(std::span<Usage> batch);
  Result<void> move_in_order(std::span<Usage> batch);
  Result<void> empty_as_they_lie(std::span<const Usage> batch);
  Result<bool> empty(const Usage& container);
  Result<void> report(std::uint64_t more_bytes);

  Volume& volume_;
  const ReclaimHost& host_;
  const ReclaimSettings& settings_;
  const ReclaimProgress& progress_;
  ReclaimFindings& findings_;

  std::vector<Place> order_;  // of what moves, as the newest files need it
  std::uint64_t all_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
};

}  // namespace dedupfs
