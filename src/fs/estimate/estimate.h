// What files would take in a volume: they are copied into a ScratchVolume, which is counted, settled, and counted again.
//
// Threads: free function, one at a time: the volume uses all cores.
// Memory:  ScratchVolumeSettings::memory_bytes and a quarter for the volume, and what its caches take.
// Failure: kInvalidArgument, kNotFound and so on for a root that is not there or settings that cannot be; kInterrupted if it was
//          told to end. Files that cannot be read are left out and counted. If the memory ends, what was copied by then is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "fs/estimate/scratch_volume.h"
#include "fs/estimate/tree_copy.h"
#include "fs/statistics/statistics.h"
#include "store/volume/volume.h"

namespace dedupfs {

struct EstimateSettings {
  std::vector<Path> roots;  // copied in this order: older versions first
  bool one_filesystem = false;
  bool by_version = false;   // the roots are versions of one thing: settle and count after each
  bool lists_first = false;  // all files, so that the progress of the copy knows how much there is
  ScratchVolumeSettings scratch;
};

enum class EstimateStage { kList, kCopy, kSettle, kScan };

struct Estimate {
  Superblock superblock;              // of the scratch volume
  Statistics copied;                  // right after the copy
  std::optional<Statistics> settled;  // later, when all is compressed for good; equal if nothing was to be done
  std::optional<Error> unsettled;     // why `settled` is missing
  std::vector<Statistics> versions;   // settled, with all roots up to this one; of as many as the memory held
  bool complete = true;               // false: the memory ended before the files did
  std::uint64_t read_bytes = 0;       // of the files, without holes
  SourceProblems problems;
  double copy_seconds = 0;
  std::uint64_t peak_scratch_bytes = 0;  // the most memory that the content of the volume took
};

struct EstimateProgress {
  EstimateStage stage = EstimateStage::kCopy;
  std::uint64_t read_bytes = 0;        // by this stage, so far
  std::uint64_t total_bytes = 0;       // that it is to read; 0: not known
  std::optional<double> seconds_left;  // at most, if its time is limited
};

// Called often. False: the estimate is to end.
using EstimateGoesOn = std::function<bool(const EstimateProgress& progress)>;

Result<Estimate> estimate(const EstimateSettings& settings, const EstimateGoesOn& goes_on);

}  // namespace dedupfs
