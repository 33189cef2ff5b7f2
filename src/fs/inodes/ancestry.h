// Whether a directory lies below another one. A walk up from it tells.
//
// Parents that a walk has read are remembered, so that walks in a deep tree cost little after the first one: a rename to the bottom
// of 60,000 levels took 0.60 s, the next ones 35 ms (docs/benchmarks.md, "Deep trees"). Whoever moves a directory has to say so.
//
// Memory:  2 MiB from the first walk on.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "fs/format/types.h"

namespace dedupfs {

class Ancestry {
 public:
  // The parent of a directory of the live tree, as its record has it.
  using ReadParent = std::function<Result<InodeNumber>(InodeNumber directory)>;
  // No walk goes further up, so that none keeps other renames waiting for long.
  static constexpr std::size_t kMaxSteps = 200'000;

  explicit Ancestry(ReadParent read_parent) : read_parent_(std::move(read_parent)) {}

  // True if `directory` is `ancestor` or lies below it. kNameTooLong if the root is too far up.
  Result<bool> is_inside(InodeNumber directory, InodeNumber ancestor);
  void note_move(InodeNumber directory, InodeNumber new_parent);
  void forget_all();

 private:
  struct Slot {
    InodeNumber directory = 0;  // 0: none
    InodeNumber parent = 0;
  };
  static constexpr std::size_t kSlots = 1 << 17;

  Slot& slot_of(InodeNumber directory) { return slots_[directory % kSlots]; }
  Result<InodeNumber> parent_of(InodeNumber directory);

  const ReadParent read_parent_;
  std::vector<Slot> slots_;
};

}  // namespace dedupfs
