// Copies whole trees by reference: new inodes and names, with the recipes of the old inodes.
//
// Threads:   from any thread, without locks. Each entry is a Change of its own.
// Ownership: all constructor arguments must outlive it.
// Failure:   the entries that were copied before an error stay.
#pragma once

#include <functional>
#include <string_view>

#include "base/job_meter.h"
#include "base/result.h"
#include "fs/format/types.h"
#include "fs/inodes/directory_moves.h"
#include "fs/inodes/inode_numbers.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/name_locks.h"
#include "fs/inodes/quota_guard.h"
#include "fs/namespace/directory_entries.h"
#include "fs/namespace/file_contents.h"
#include "fs/namespace/filesystem_types.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class Clones {
 public:
  Clones(Metadata& metadata, InodeTable& table, InodeNumbers& numbers, NameLocks& names, DirectoryEntries& entries,
         FileContents& contents, DirectoryMoves& moves, Transactions& transactions, SpaceGuard& space,
         QuotaGuard& quotas)
      : metadata_(metadata),
        table_(table),
        numbers_(numbers),
        names_(names),
        entries_(entries),
        contents_(contents),
        moves_(moves),
        transactions_(transactions),
        space_(space),
        quotas_(quotas) {}

  // As Filesystem::clone_tree().
  Result<CloneTotals> clone_tree(InodeNumber from, InodeNumber parent, std::string_view name, JobMeter* meter = nullptr,
                                 const std::function<void()>& look = nullptr);

 private:
  class Cloning;

  Result<Attributes> attributes_now(InodeNumber number) const;

  Metadata& metadata_;
  InodeTable& table_;
  InodeNumbers& numbers_;
  NameLocks& names_;
  DirectoryEntries& entries_;
  FileContents& contents_;
  DirectoryMoves& moves_;
  Transactions& transactions_;
  SpaceGuard& space_;
  QuotaGuard& quotas_;
};

}  // namespace dedupfs
