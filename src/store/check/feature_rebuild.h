// Makes the feature index again from the stored chunks: for a volume whose index was lost, or whose limit was raised.
//
// Threads: one at a time, on a volume that is open for writing and otherwise idle.
// Failure: kInvalidArgument for a volume without deltas. If it is interrupted, the index has gaps, which costs space only.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/check/check_report.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct FeatureRebuild {
  std::uint64_t indexed = 0;     // chunks that are found by their features now
  std::uint64_t unreadable = 0;  // chunks that are damaged
};

Result<FeatureRebuild> rebuild_feature_index(Volume& volume);
// The same for an index that belongs to no open volume. `progress` counts chunk ids up to `end_of_chunks`.
Result<FeatureRebuild> rebuild_feature_index(const ContainerStore& containers, Database& index,
                                             const DeltaSettings& settings, const Progress& progress, int pass,
                                             std::uint64_t end_of_chunks);

}  // namespace dedupfs
