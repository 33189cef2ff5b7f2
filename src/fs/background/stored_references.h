// What the files of a volume, and its snapshots, refer to in the chunk store: the roots of a reclaim's mark.
//
// Threads:   every function from any thread.
// Ownership: database and numbers must outlive it.
// Failure:   what does not parse is kCorruption: it may refer to anything.
#pragma once

#include <string>

#include "base/result.h"
#include "fs/inodes/inode_numbers.h"
#include "index/database.h"
#include "store/reclaim/reclaim_types.h"

namespace dedupfs {

class StoredReferences {
 public:
  StoredReferences(const Database& database, const InodeNumbers& numbers) : database_(database), numbers_(numbers) {}

  // Of files, and of files as snapshots have them, in a committed state.
  Result<void> visit(const Database::Snapshot& snapshot, const ReclaimHost::Visit& visit) const;
  // Of the newest files first, each from its beginning, until `visit` has enough.
  Result<void> visit_newest(const ReclaimHost::VisitUntil& visit) const;

 private:
  Result<bool> visit_recipes(const std::string& begin, const std::string& end,
                             const ReclaimHost::VisitUntil& visit) const;

  const Database& database_;
  const InodeNumbers& numbers_;
};

}  // namespace dedupfs
