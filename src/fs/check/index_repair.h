// Makes a new index for a volume beside the damaged one, and puts it in its place. The damaged one is read and never
// changed, so a repair that is interrupted anywhere has made nothing worse and is done again, or, once the new index is
// complete, finished, by the next.
//
//   index.repair/    the new index while it is made; complete once it says whose index it is, which is written last
//   index.salvage/   scratch, while a damaged index is read
//   index.damaged/   the old index, until it is clear that nothing was lost (a number follows if there is one already)
//
// Threads: one at a time; the caller holds the volume's lock for writing.
// Failure: an Error leaves the volume as it was. kInterrupted comes from `progress`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "base/backing.h"
#include "base/result.h"
#include "fs/check/namespace_repair.h"
#include "index/table_check.h"
#include "store/check/check_report.h"
#include "store/format/superblock.h"
#include "store/metadata/checkpoint.h"

namespace dedupfs {

class IndexRepair {
 public:
  IndexRepair(std::shared_ptr<BackingFolder> volume, Superblock superblock);

  // What an interrupted repair left, and what becomes of it: a line each. With `finish`, a complete new index takes its
  // place; without it nothing is changed.
  Result<std::vector<std::string>> clean_up(bool finish);

  // Makes index.repair. `mismatched`: see CheckedStore. `harmful`: the tables of the index that must not be read. What it found
  // and lost goes to the log.
  Result<void> build(const std::unordered_set<std::uint64_t>& mismatched, const std::vector<HarmfulTable>& harmful,
                     CheckReport& report, const RepairLog& log, const Progress& progress, int first_pass);
  // Puts it in place. Returns the name of the old index, if there was one.
  Result<std::optional<std::string>> swap();
  // Of what build() made, or of an index that is not needed any more.
  Result<void> discard();
  Result<void> discard(const std::string& old_index);

 private:
  Result<bool> is_complete() const;
  static std::string old_index(int number);  // the first, second, ... that a repair replaced
  Result<int> old_indexes() const;           // how many of them there are
  // The newest checkpoint that can be read, if there is one.
  Result<std::optional<Checkpoint>> newest_checkpoint(CheckReport& report) const;

  const std::shared_ptr<BackingFolder> volume_;
  const Superblock superblock_;
};

}  // namespace dedupfs
