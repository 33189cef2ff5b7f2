// Sending and receiving snapshots of a mounted volume: the commands that stream data, and the one that asks how far a receive got.
//
// Threads: free functions; the jobs run in threads of their own, beside requests of the kernel.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "mount/control/stream_jobs.h"
#include "mount/fuse/fuse_mount.h"

namespace dedupfs {

// "send" and "receive". The mount outlives the jobs.
StreamJobs::Jobs transfer_jobs(FuseMount& mount);
// Answers {"command": "received", "folder": "copies/anna"}.
Result<nlohmann::json> received_token(FuseMount& mount, const nlohmann::json& request);

}  // namespace dedupfs
