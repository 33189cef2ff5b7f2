// The references of files and snapshots to chunks: the roots of a reclaim's mark.
//
// Threads:   every function from any thread.
// Ownership: database and numbers must outlive it.
// Failure:   kCorruption for a record that does not parse: it may refer to any chunk.
#pragma once

#include <string>

#include "base/go_on.h"
#include "base/result.h"
#include "fs/inodes/inode_numbers.h"
#include "index/database.h"
#include "store/reclaim/reclaim_types.h"

namespace dedupfs {

class StoredReferences {
 public:
  StoredReferences(const Database& database, const InodeNumbers& numbers) : database_(database), numbers_(numbers) {}

  // Visits the references of live files and of files in snapshots, in a committed state.
  Result<void> visit(const Database::Snapshot& snapshot, const ReclaimHost::Visit& visit) const;
  // Visits the references of the newest files first, each file from its beginning, until `visit` returns false. Asks `go_on` now and
  // then, also where files have no references.
  Result<void> visit_newest(const ReclaimHost::VisitUntil& visit, const GoOn& go_on) const;

 private:
  Result<bool> visit_recipes(const std::string& begin, const std::string& end,
                             const ReclaimHost::VisitUntil& visit) const;

  const Database& database_;
  const InodeNumbers& numbers_;
};

}  // namespace dedupfs
