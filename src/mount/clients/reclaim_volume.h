// Reclaims or settles an unmounted volume, for dedupfs-gc.
#pragma once

#include <functional>

#include "base/backing.h"
#include "base/result.h"
#include "fs/background/reclaimer.h"

namespace dedupfs {

// Opens the volume, reclaims to the end, closes it. `goes_on` gets the progress several times a second. If it returns false, the
// reclaim stops, and the volume is closed as usual. The status tells the result of the reclaim. An Error comes from opening or
// closing (kBusy: another process has the volume).
// `foreign`: see VolumeOptions. `bytes_per_second`: as Reclaimer::set_rate().
Result<ReclaimStatus> reclaim_volume(const Path& path, ReclaimGoal goal, bool foreign,
                                     const std::function<bool(const ReclaimStatus&)>& goes_on,
                                     std::uint64_t bytes_per_second = 0,
                                     const std::shared_ptr<Backing>& backing = Backing::posix());

}  // namespace dedupfs
