// A reclaim of a volume that nobody has mounted: the work of dedupfs-gc there.
#pragma once

#include <functional>

#include "base/backing.h"
#include "base/result.h"
#include "fs/background/reclaimer.h"

namespace dedupfs {

// Opens the volume, reclaims to the end, closes it. `goes_on` sees how far it is, several times a second; when it says no, the
// reclaim is stopped, and everything is closed as at the end. How the reclaim went is in the status; an Error is of opening or
// closing (kBusy: somebody else has the volume).
// `foreign`: see VolumeOptions.
Result<ReclaimStatus> reclaim_volume(const Path& path, bool foreign,
                                     const std::function<bool(const ReclaimStatus&)>& goes_on);

}  // namespace dedupfs
