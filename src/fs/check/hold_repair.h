// The holds of snapshots in a repaired index: a repair releases no held snapshot without saying so. See docs/snapshots.md, "Holds".
//
// Threads: one at a time.
// Failure: an Error means that a source could not be read at all or that the copy could not be written.
#pragma once

#include <vector>

#include "base/result.h"
#include "fs/check/repair_log.h"
#include "index/bulk_writer.h"
#include "index/record_source.h"

namespace dedupfs {

// Writes the holds of all sources, the newest first; null: there is none. Of two for the same snapshot, the longer one. Says what
// is lost. `has_holds`: the volume had a held snapshot at some time, so there must be a record.
Result<void> repair_holds(const std::vector<const RecordSource*>& sources, bool has_holds, BulkWriter& to,
                          const RepairLog& log);

}  // namespace dedupfs
