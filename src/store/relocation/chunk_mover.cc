#include "store/relocation/chunk_mover.h"

#include <algorithm>
#include <utility>

#include "store/chunks/chunk_index.h"

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

// A chunk that is pending now is still pending, or in the index, when it is moved.
Result<void> ChunkMover::move_within_group(std::span<const Copy> copies) {
  for (const Copy& copy : copies) {
    if (parts_.pending.locate(copy.entry.id)) continue;
    DEDUPFS_ASSIGN(const auto extent, find_extent(parts_.index, copy.entry.id));
    if (extent && extent->place == copy.from && packer_.add_moved(copy.entry, copy.payload)) moved_(copy);
  }
  return {};
}

}  // namespace dedupfs
