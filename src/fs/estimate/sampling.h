// What files would take in a volume, from a sample of them, in a bounded time.
//
// The volume is the product of two numbers. Each is found where it can be found best:
//   - How many bytes are distinct: all files are read and cut into chunks, which are counted. That is fast. If the time does not
//     suffice for all, those of a random sample are counted, and extrapolated.
//   - What a distinct byte takes, with deltas and compression: a smaller random sample goes through the whole pipeline into a
//     ScratchVolume.
// The samples consist of the same columns, in the same order (sample_plan.h).
//
// If the sample would be all of the data anyway, the data are copied as they are, and counted: no margin is left. If the time or the
// memory does not suffice for that, there is a sample nevertheless.
//
// Threads: free function, one at a time: the volume uses all cores.
// Memory:  ScratchVolumeSettings::memory_bytes, its caches, about 300 MB for the plan and the known chunks.
// Failure: as estimate(). If the memory ends, the sample is as large as it is by then.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"
#include "fs/estimate/estimate.h"
#include "fs/estimate/extrapolation.h"
#include "fs/estimate/sample_plan.h"

namespace dedupfs {

struct SampleSettings {
  double share = 0.05;  // of the data, for the pipeline; less if the time ends
  // However small the share is: less would say little.
  std::uint64_t min_bytes = 256 << 20;
  std::size_t min_columns = 60;
  std::uint64_t seed = 1;
  // The whole takes a little longer.
  std::chrono::milliseconds limit = std::chrono::seconds(50);
};

struct SampledEstimate {
  Superblock superblock;  // of the scratch volume
  SourceTotals totals;    // of all files, or of those that the walk reached
  bool complete = true;   // false: the walk over the names took too long, and `totals` end where it ended
  SourceProblems problems;
  Extrapolation distinct_bytes;
  Extrapolation disk_bytes;            // of the settled volume
  double delta_compression_ratio = 1;  // of the sample
  double local_compression_ratio = 1;
  std::uint64_t sampled_bytes = 0;  // through the pipeline
  std::uint64_t scanned_bytes = 0;  // whose chunks were counted
  bool whole_scan = true;           // these are all
  bool is_sample_all = false;       // all went through the pipeline, as it is: there are no margins
  std::uint64_t columns = 0;        // through the pipeline
  double seconds = 0;

  double total_ratio() const;
  double dedup_ratio() const;
};

Result<SampledEstimate> estimate_by_sample(const EstimateSettings& settings, const SampleSettings& sample,
                                           const EstimateGoesOn& goes_on);

}  // namespace dedupfs
