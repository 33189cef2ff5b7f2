// The history of a volume: the samples that it keeps. docs/format.md, "History", has their records.
//
// Threads: free functions, as Metadata.
// Failure: a record that does not parse is left out: the history is a help, and no reason to fail. fsck.dedupfs names it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "fs/format/history_records.h"
#include "store/metadata/metadata.h"

namespace dedupfs {

// In order of time: of the last week before `now` one for each hour that has one, of the time before one for each day. Those of a clock
// that was ahead by more than a day are left out.
Result<std::vector<HistorySample>> read_history(const Metadata& metadata, std::int64_t now);

// Changes the open group. The sample takes the place of those of the same hour and of the same day.
void put_history_sample(Metadata& metadata, const HistorySample& sample);

}  // namespace dedupfs
