// What a mounted volume tells everybody who can see it (mount/fuse/public_answers.h), and what the control socket tells as well.
//
// Threads: free functions, safe beside everything.
// Failure: that of compute_statistics().
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "mount/fuse/fuse_mount.h"
#include "mount/fuse/public_answers.h"
#include "replica/background/background_shipper.h"

namespace dedupfs {

// The object of dedupfs-stat --json for what is committed. `shipper` is null for a volume that is not shipped.
Result<nlohmann::json> committed_statistics(FuseMount& mount, const BackgroundShipper* shipper = nullptr);

// What goes on now: the objects "performance", "scrub" and "reclaim" of these statistics, and "jobs". They take no walk.
nlohmann::json live_statistics(FuseMount& mount);
// Only what runs beside the requests of the kernel: "scrub", "reclaim" and "jobs".
nlohmann::json background_jobs(Filesystem& filesystem);

// The questions, by the names of their attributes. They commit nothing: who may only look must not make the volume write. The reason of
// a failed reclaim or ship is left out, since it may name files. Both must outlive the use of the makers.
PublicAnswers::Makers public_questions(FuseMount& mount, const BackgroundShipper* shipper = nullptr);

}  // namespace dedupfs
