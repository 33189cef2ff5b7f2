#include "mount/clients/reclaim_volume.h"

#include <thread>

#include "fs/namespace/filesystem.h"
#include "mount/control/control_jobs.h"

namespace dedupfs {

Result<ReclaimStatus> reclaim_volume(const Path& path, ReclaimGoal goal, bool foreign,
                                     const std::function<bool(const ReclaimStatus&)>& goes_on) {
  DEDUPFS_ASSIGN(auto volume, Volume::open(path, {.foreign = foreign}));
  DEDUPFS_ASSIGN(const auto filesystem, Filesystem::open(std::move(volume), {}));
  Reclaimer& reclaimer = filesystem->reclaimer();
  DEDUPFS_TRY(reclaimer.start({.goal = goal}));
  for (ReclaimStatus status = reclaimer.status(); status.running; status = reclaimer.status()) {
    if (!goes_on(status)) reclaimer.stop();
    std::this_thread::sleep_for(kJobLookInterval);
  }
  const ReclaimStatus status = reclaimer.status();
  DEDUPFS_TRY(filesystem->close());
  return status;
}

}  // namespace dedupfs
