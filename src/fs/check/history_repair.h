// The history of a volume in checks and repairs. A damaged sample is no damage to files: it is left out, and a later one takes its place.
//
// Threads: one at a time.
// Failure: an Error means that a source could not be read at all or that the copy could not be written.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "index/bulk_writer.h"
#include "index/database.h"
#include "index/record_source.h"

namespace dedupfs {

// The records of the history that do not parse.
Result<std::uint64_t> count_damaged_samples(const Database& database);

// Writes the samples of all sources; null: there is none. Of two for the same hour or day, the later one.
Result<void> repair_history(const std::vector<const RecordSource*>& sources, BulkWriter& to);

}  // namespace dedupfs
