// rename(2) and renameat2(2).
//
// Threads:   from any thread, without locks.
// Ownership: all constructor arguments must outlive it.
// Failure:   errors as in POSIX; after an error nothing was changed. kBusy if others replace the name again and again.
#pragma once

#include <string_view>

#include "base/result.h"
#include "fs/format/types.h"
#include "fs/inodes/directory_moves.h"
#include "fs/inodes/inode_table.h"
#include "fs/inodes/name_locks.h"
#include "fs/namespace/directory_entries.h"
#include "fs/namespace/filesystem_types.h"
#include "fs/namespace/inode_maker.h"
#include "fs/transactions/space_guard.h"
#include "fs/transactions/transactions.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

class Renames {
 public:
  Renames(Metadata& metadata, InodeTable& table, NameLocks& names, DirectoryEntries& entries, InodeMaker& maker,
          DirectoryMoves& moves, Transactions& transactions, SpaceGuard& space)
      : metadata_(metadata),
        table_(table),
        names_(names),
        entries_(entries),
        maker_(maker),
        moves_(moves),
        transactions_(transactions),
        space_(space) {}

  // As Filesystem::rename().
  Result<void> rename(InodeNumber old_parent, std::string_view old_name, InodeNumber new_parent,
                      std::string_view new_name, RenameMode mode, const Caller& caller);

 private:
  struct Request;

  Result<bool> rename_if_checked(Request& request, Ancestry* ancestry);

  Metadata& metadata_;
  InodeTable& table_;
  NameLocks& names_;
  DirectoryEntries& entries_;
  InodeMaker& maker_;
  DirectoryMoves& moves_;
  Transactions& transactions_;
  SpaceGuard& space_;
};

}  // namespace dedupfs
