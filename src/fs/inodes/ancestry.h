// Finds out whether a directory lies below another one, by a walk up from it.
//
// It remembers the parents that a walk has read. So walks in a deep tree cost little after the first one: a rename to the
// bottom of 60,000 levels took 0.60 s, the next ones 35 ms (docs/benchmarks.md, "Deep trees"). Every move of a directory must
// be reported by note_move().
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
  // The longest walk. The limit keeps other renames from a long wait.
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
