// Connects inodes to the content of their files. It is loaded when it is needed, kept while the file is open or changed, and
// charged to the budget. After a change of content, note_modification() updates times and set-id bits.
//
// Threads:   every function from any thread. Functions take the inode's mutex: call them without it.
// Ownership: an inode shares its content with the callers that got it here. All constructor arguments must outlive both.
// Failure:   errors as in POSIX; damage is logged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "fs/content/dirty_budget.h"
#include "fs/content/file_content.h"
#include "fs/format/types.h"
#include "fs/inodes/damage_log.h"
#include "fs/inodes/inode_changes.h"
#include "fs/inodes/inode_table.h"
#include "fs/transactions/writability.h"
#include "store/volume/volume.h"

namespace dedupfs {

class FileContents {
 public:
  FileContents(Volume& volume, InodeTable& table, DirtyBudget& budget, InodeChanges& changes,
               const Writability& writability, DamageLog& damage_log)
      : volume_(volume),
        table_(table),
        budget_(budget),
        changes_(changes),
        writability_(writability),
        damage_log_(damage_log) {}

  // kTooLarge if no file can have [offset, offset + length).
  static Result<void> check_range(std::uint64_t offset, std::uint64_t length);

  std::shared_ptr<FileContent> for_reading(Inode& inode) DEDUPFS_EXCLUDES(inode.mutex);
  // Call it within a Change. It puts the inode into the set of changed ones first, so that nobody drops the content during the
  // change.
  std::shared_ptr<FileContent> for_change(const InodePtr& inode) DEDUPFS_EXCLUDES(inode->mutex);

  // Waits until so much of the budget is free, so do not call it within a Change. The operation takes its memory from the
  // budget in addition, and gives this share back at its end.
  Result<DirtyBudget::Share> acquire_budget(std::uint64_t bytes, const std::function<bool()>& cancelled);
  // The share for a truncation to a size other than 0: the rest of the chunk at the new end becomes dirty bytes.
  Result<DirtyBudget::Share> acquire_budget_of_chunk();

  // Call it within a Change.
  Result<void> resize(const InodePtr& inode, std::uint64_t size, const Caller& caller);
  // Updates times, set-id bits and the charge of the quota after a change of content. Call it within a Change.
  static void note_modification(Inode& inode, const Caller& caller) DEDUPFS_EXCLUDES(inode.mutex);
  // Call it with the inode locked.
  static void drop_set_ids(Attributes& attributes, const Caller& caller);

 private:
  Volume& volume_;
  InodeTable& table_;
  DirtyBudget& budget_;
  InodeChanges& changes_;
  const Writability& writability_;
  DamageLog& damage_log_;
};

}  // namespace dedupfs
