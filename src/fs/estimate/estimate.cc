#include "fs/estimate/estimate.h"

#include <chrono>

#include "fs/estimate/source_tree.h"

namespace dedupfs {
namespace {

bool is_lack_of_memory(const Error& error) {
  return error.code() == ErrorCode::kNoMemory || error.code() == ErrorCode::kNoSpace;
}

}  // namespace

Result<Estimate> estimate(const EstimateSettings& settings, const EstimateGoesOn& goes_on) {
  using Clock = std::chrono::steady_clock;
  Estimate found;
  const auto progress_of = [&](EstimateStage stage) {
    return [&, stage](std::uint64_t bytes) -> Result<void> {
      found.read_bytes += bytes;
      if (goes_on(stage, found.read_bytes)) return {};
      return Error{ErrorCode::kInterrupted, "the estimate was told to end"};
    };
  };
  DEDUPFS_ASSIGN(const auto volume, ScratchVolume::make(settings.scratch));
  found.superblock = volume->filesystem().volume().superblock();

  const Clock::time_point begun = Clock::now();
  const SourceTree tree({.roots = settings.roots, .one_filesystem = settings.one_filesystem});
  TreeCopy copy(tree, *volume, progress_of(EstimateStage::kCopy));
  const auto walked = tree.walk(copy);
  if (!walked && !is_lack_of_memory(walked.error())) return walked.error();
  found.complete = walked.has_value();
  found.problems = copy.problems();
  DEDUPFS_ASSIGN(found.copied, volume->statistics());
  found.copy_seconds = std::chrono::duration<double>(Clock::now() - begun).count();

  if (found.copied.landed_bytes == 0) {
    found.settled = found.copied;
  } else if (const auto settled = volume->settle(progress_of(EstimateStage::kSettle)); settled) {
    DEDUPFS_ASSIGN(found.settled, volume->statistics());
  } else if (is_lack_of_memory(settled.error())) {
    found.unsettled = settled.error();
  } else {
    return settled.error();
  }
  found.peak_scratch_bytes = volume->peak_bytes();
  return found;
}

}  // namespace dedupfs
