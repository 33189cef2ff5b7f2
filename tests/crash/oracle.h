// Judges a state that a crash left: whether it opens, holds one of the trees that it may hold, is sound and grows no garbage,
// and whether a crash within the recovery changes anything.
//
// Threads: any; each call on a disk of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crash/recorded_run.h"

namespace dedupfs {

struct Verdict {
  std::vector<std::string> problems;
  std::string tree;                 // that was found; empty if there is no volume
  bool root_may_be_new = false;     // the volume was never mounted: each recovery makes the root, with times of its own
  std::vector<DiskEvent> recovery;  // what opening, checking and closing did to the disk
};

// What fsck.dedupfs would find.
void check_filesystem(Filesystem& filesystem, std::vector<std::string>& problems);

// `may_be_absent`: there may be no volume at all, but not a part of one.
Verdict examine(const DiskImage& disk, const History& history, History::Range allowed, bool may_be_absent);

// A crash within the recovery that `first` describes, `times` over, must lead to the same tree.
void examine_recovery(const DiskImage& disk, Verdict& first, std::uint64_t seed, int times);

}  // namespace dedupfs
