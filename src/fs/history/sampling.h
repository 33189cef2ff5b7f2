// Takes a sample for the history of a volume.
//
// Threads: a free function; the volume may be in use meanwhile.
// Cost:    that of compute_statistics(), and reading kNewestBytes of recipes; without the counts, a look at every file of the volume.
// Failure: the Error of `go_on`, which it calls now and then; errors of the index.
#pragma once

#include <cstdint>
#include <functional>

#include "base/go_on.h"
#include "base/result.h"
#include "fs/format/history_records.h"
#include "store/format/types.h"
#include "store/volume/volume.h"

namespace dedupfs {

// Visits every chunk that the newest files refer to, the newest files first, until `visit` returns false. Asks `go_on` also while it
// passes files without chunks.
using VisitNewest = std::function<Result<void>(const std::function<bool(ChunkId)>& visit, const GoOn& go_on)>;

// The speed of reading is that of so much of the newest files.
inline constexpr std::uint64_t kNewestBytes = std::uint64_t{1} << 30;

Result<HistorySample> sample_without_counts(const Volume& volume, std::int64_t unix_seconds, const GoOn& go_on);
// Of what is committed.
Result<HistorySample> take_sample(Volume& volume, std::int64_t unix_seconds, const VisitNewest& visit_newest,
                                  const GoOn& go_on);

}  // namespace dedupfs
