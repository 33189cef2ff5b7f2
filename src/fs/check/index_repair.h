// Builds a new index beside the damaged one, and puts it in its place. The damaged one is read and never changed. So an interrupted
// repair makes nothing worse: the next repair starts again, or finishes it if the new index is complete.
//
//   index.repair/    the new index; complete when it has the UUID of its volume, which is written last
//   index.salvage/   scratch, while a damaged index is read
//   index.damaged/   the old index, kept if something was lost (with a number if there is one already)
//
// Threads: one at a time; the caller holds the volume's lock for writing.
// Failure: an Error leaves the volume as it was. kInterrupted comes from `progress`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  // Names in the folder of the volume that build() writes to.
  static constexpr std::string_view kNewIndex = "index.repair";
  static constexpr std::string_view kSalvage = "index.salvage";

  IndexRepair(std::shared_ptr<BackingFolder> volume, Superblock superblock);

  // Reports the leftovers of an interrupted repair, a line each. With `finish`, a complete new index takes its place; otherwise nothing
  // changes.
  Result<std::vector<std::string>> clean_up(bool finish);

  // Builds index.repair. `mismatched`: see CheckedStore. `harmful`: the tables of the index that must not be read. The log gets findings
  // and losses.
  Result<void> build(const std::unordered_set<std::uint64_t>& mismatched, const std::vector<HarmfulTable>& harmful,
                     CheckReport& report, const RepairLog& log, const Progress& progress, int first_pass);
  // Puts the new index in place. Returns the name of the old index, if there was one.
  Result<std::optional<std::string>> swap();
  // Removes the result of build(), or an index that is not needed any more.
  Result<void> discard();
  Result<void> discard(const std::string& old_index);

 private:
  Result<bool> is_complete() const;
  static std::string old_index(int number);  // the name of the N-th index that a repair replaced
  Result<int> old_indexes() const;           // the number of such indexes
  // The newest readable checkpoint, if there is one.
  Result<std::optional<Checkpoint>> newest_checkpoint(CheckReport& report) const;

  const std::shared_ptr<BackingFolder> volume_;
  const Superblock superblock_;
};

}  // namespace dedupfs
