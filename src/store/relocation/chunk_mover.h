// Stores chunks once more in the given order: together, in new regions. Their content and form stay, so no recipe and no delta
// changes. Their former copies are garbage once the group is committed.
//
// Threads: one user at a time (Relocator::start_moving()); writers and readers go on.
// Failure: an Error of the index, or of the owner of the groups. A chunk that moved meanwhile, or is being re-encoded by another
//          thread, stays where it is.
// Memory:  the bytes of one batch, and some 350 for each chunk of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/format/region.h"
#include "store/ingest/region_packer.h"
#include "store/relocation/in_group.h"
#include "store/relocation/relocation_parts.h"

namespace dedupfs {

class ChunkMover {
 public:
  // A chunk and the form in which it is stored. The bytes are its own: pinned bytes would keep a whole region each.
  struct Copy {
    RegionPlace from;
    RegionEntry entry;
    ByteBuffer payload;
  };
  using Moved = std::function<void(const Copy& copy)>;

  // `packer` is the mover's own for as long as it lives.
  ChunkMover(const RelocationParts& parts, RegionPacker& packer, const InGroup& in_group, Moved moved)
      : parts_(parts), packer_(packer), in_group_(in_group), moved_(std::move(moved)) {}

  Result<void> add(Copy copy);
  // Moves the added chunks that have not moved yet.
  Result<void> finish();

 private:
  Result<void> move_within_group(std::span<const Copy> copies);

  const RelocationParts parts_;
  RegionPacker& packer_;
  const InGroup& in_group_;
  const Moved moved_;
  std::vector<Copy> copies_;
  std::uint64_t bytes_ = 0;
};

}  // namespace dedupfs
