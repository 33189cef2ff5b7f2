#include "mount/clients/reclaim_volume.h"

#include "fs/namespace/filesystem.h"
#include "mount/control/control_jobs.h"

namespace dedupfs {

Result<ReclaimStatus> reclaim_volume(const Path& path, ReclaimGoal goal, bool foreign,
                                     const std::function<bool(const ReclaimStatus&)>& goes_on,
                                     std::uint64_t bytes_per_second, const std::shared_ptr<Backing>& backing) {
  DEDUPFS_ASSIGN(auto volume, Volume::open(path, {.foreign = foreign}, backing));
  DEDUPFS_ASSIGN(const auto filesystem, Filesystem::open(std::move(volume), {}));
  filesystem->reclaimer().set_rate(bytes_per_second);
  DEDUPFS_ASSIGN(const ReclaimStatus status,
                 run_reclaim(filesystem->reclaimer(), {.goal = goal}, kJobLookInterval, goes_on));
  DEDUPFS_TRY(filesystem->close());
  return status;
}

}  // namespace dedupfs
