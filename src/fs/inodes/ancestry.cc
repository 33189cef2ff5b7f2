#include "fs/inodes/ancestry.h"

#include <fmt/format.h>

#include <bit>

namespace dedupfs {

Result<bool> Ancestry::is_inside(InodeNumber directory, InodeNumber ancestor) {
  if (slots_.empty()) slots_.resize(kSlots);
  InodeNumber at = directory;
  InodeNumber seen = 0;  // the directory at the last power of two of steps; a circle leads there again
  for (std::size_t steps = 1; steps <= kMaxSteps; ++steps) {
    if (at == ancestor) return true;
    if (at == kRootInode) return false;
    if (at == seen) return Error{ErrorCode::kCorruption, fmt::format("directory {} is its own ancestor", at)};
    if (std::has_single_bit(steps)) seen = at;
    DEDUPFS_ASSIGN(at, parent_of(at));
  }
  return Error{ErrorCode::kNameTooLong,
               fmt::format("directory {} lies more than {} levels deep", directory, kMaxSteps)};
}

void Ancestry::note_move(InodeNumber directory, InodeNumber new_parent) {
  if (!slots_.empty()) slot_of(directory) = {directory, new_parent};
}

void Ancestry::forget_all() {
  slots_ = {};
}

Result<InodeNumber> Ancestry::parent_of(InodeNumber directory) {
  Slot& slot = slot_of(directory);
  if (slot.directory != directory) {
    DEDUPFS_ASSIGN(const InodeNumber parent, read_parent_(directory));
    slot = {directory, parent};
  }
  return slot.parent;
}

}  // namespace dedupfs
