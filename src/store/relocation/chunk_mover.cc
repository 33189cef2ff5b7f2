#include "store/relocation/chunk_mover.h"

#include <algorithm>
#include <utility>

#include "store/chunks/extent_finder.h"

namespace dedupfs {
namespace {

constexpr std::uint64_t kHeldBytes = 16 << 20;  // bytes that are held in memory
constexpr std::size_t kMovedInAGroup = 64;      // chunks

}  // namespace

Result<void> ChunkMover::add(Copy copy) {
  bytes_ += copy.payload.size();
  copies_.push_back(std::move(copy));
  return bytes_ < kHeldBytes ? Result<void>() : finish();
}

// Some in each group: nobody waits long for one to end.
Result<void> ChunkMover::finish() {
  const std::vector<Copy> copies = std::exchange(copies_, {});
  bytes_ = 0;
  for (std::span<const Copy> rest = copies; !rest.empty();) {
    const auto some = rest.first(std::min(kMovedInAGroup, rest.size()));
    DEDUPFS_TRY(in_group_([&] { return move_within_group(some); }));
    rest = rest.subspan(some.size());
  }
  return {};
}

// A chunk that is not pending now is in the index, or nowhere, until the group ends: only this group might change that. So the
// places that are found after all have been asked for stay right.
Result<void> ChunkMover::move_within_group(std::span<const Copy> copies) {
  DEDUPFS_TRY(parts_.ingest.check_movable());
  std::vector<const Copy*> not_pending;
  not_pending.reserve(copies.size());
  for (const Copy& copy : copies)
    if (!parts_.pending.contains(copy.entry.id)) not_pending.push_back(&copy);
  PlaceFinder places(parts_.index);
  for (const Copy* const copy : not_pending) {
    DEDUPFS_ASSIGN(const ExtentFront* const extent, places.find(copy->entry.id));
    if (extent != nullptr && extent->place == copy->from && packer_.add_moved(copy->entry, copy->payload))
      moved_(*copy);
  }
  return {};
}

}  // namespace dedupfs
