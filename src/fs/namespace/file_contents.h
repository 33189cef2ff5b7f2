// The content of regular files as inodes have it: loaded when it is needed, kept while it is open or changed, charged to the
// budget; and what a change of it does to times and set-id bits.
//
// Threads:   every function from any thread. They take the inode's mutex: call them without it.
// Ownership: an inode shares its content with whoever got it here. Everything that it is given must outlive them.
// Failure:   as POSIX has it; damage is logged.
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

  // kTooLarge if [offset, offset + length) is more than a file can have.
  static Result<void> check_range(std::uint64_t offset, std::uint64_t length);

  std::shared_ptr<FileContent> for_reading(Inode& inode) DEDUPFS_EXCLUDES(inode.mutex);
  // Within a Change. Puts the inode into the set of changed ones first, so that nobody drops the content while it is being changed.
  std::shared_ptr<FileContent> for_change(const InodePtr& inode) DEDUPFS_EXCLUDES(inode->mutex);

  // Waits until there is so much of the budget: not within a Change. What an operation takes it takes on top; the share is given
  // back at its end.
  Result<DirtyBudget::Share> acquire_budget(std::uint64_t bytes, const std::function<bool()>& cancelled);
  // What a truncation to a size other than 0 needs: what is left of the chunk at the new end becomes dirty bytes.
  Result<DirtyBudget::Share> acquire_budget_of_chunk();

  // Within a Change.
  Result<void> resize(const InodePtr& inode, std::uint64_t size, const Caller& caller);
  // Within a Change: times and set-id bits, after the content changed.
  static void note_modification(Inode& inode, const Caller& caller) DEDUPFS_EXCLUDES(inode.mutex);
  // With the inode locked.
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
